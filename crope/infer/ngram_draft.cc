#include "crope/infer/ngram_draft.h"

#include <algorithm>

namespace crope::infer {
namespace {

constexpr std::int64_t kLongestContext = 16;
constexpr std::int64_t kMostFailures = 6;  // 2^6 tokens are not guessed after them

// How many tokens before `end` agree with the last ones of ids, at most kLongestContext.
std::int64_t agreement(std::span<const std::int32_t> ids, std::int64_t end) {
  const std::int64_t size = std::ssize(ids), most = std::min(kLongestContext, end);
  std::int64_t length = 0;
  while (length < most &&
         ids[static_cast<std::size_t>(end - 1 - length)] == ids[static_cast<std::size_t>(size - 1 - length)]) {
    ++length;
  }
  return length;
}

}  // namespace

std::vector<std::int32_t> NgramDraft::guess(std::span<const std::int32_t> ids, std::int64_t room) {
  const std::int64_t wanted = std::min(length_, room);
  if (wanted <= 0) return {};
  if (pause_ > 0) {
    --pause_;
    return {};
  }
  std::int64_t best = kShortestContext - 1, place = 0;
  for (std::int64_t end = std::ssize(ids) - 1; end >= kShortestContext && best < kLongestContext; --end) {
    const std::int64_t length = agreement(ids, end);
    if (length <= best) continue;
    best = length;
    place = end;
  }
  if (place == 0) return {};
  const std::int64_t count = std::min(wanted, std::ssize(ids) - place);
  return {ids.begin() + place, ids.begin() + place + count};
}

void NgramDraft::report(std::int64_t guessed, std::int64_t right) {
  if (right > 0) {
    failures_ = 0;
    length_ = right == guessed ? std::min(most_, 2 * std::max(length_, guessed)) : right + 1;
    length_ = std::min(length_, most_);
    return;
  }
  length_ = std::max<std::int64_t>(1, length_ / 2);
  failures_ = std::min(failures_ + 1, kMostFailures);
  pause_ = std::int64_t{1} << failures_;
}

}  // namespace crope::infer
