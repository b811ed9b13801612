#include "crope/eval/request_encoding.h"

#include <algorithm>
#include <string>

#include "crope/base/error.h"
#include "crope/eval/python_text.h"

namespace crope::eval {

std::int32_t Prefix::require() const {
  if (!token) {
    throw Error("the model has no token to start a text with", "set bos_token_id or eos_token_id in its config.json");
  }
  return *token;
}

std::vector<std::int32_t> encode_prompt(const text::Tokenizer& tokenizer, std::string_view text, const Prefix& prefix) {
  std::vector<std::int32_t> ids = tokenizer.encode_with_special(text);
  if (prefix.bos == Bos::added) {
    const std::int32_t token = prefix.require();
    if (ids.empty() || ids.front() != token) ids.insert(ids.begin(), token);
  }
  return ids;
}

infer::ScoreRequest encode_pair(const text::Tokenizer& tokenizer, std::string_view context,
                                std::string_view continuation, const Prefix& prefix) {
  const std::string whole = std::string(context) + std::string(continuation);
  const std::string_view kept = strip_right(context);
  infer::ScoreRequest pair;
  if (kept.empty()) {
    pair.continuation = tokenizer.encode_with_special(whole);
    const std::int32_t token = prefix.require();
    if (!pair.continuation.empty() && pair.continuation.front() == token) {
      pair.continuation.erase(pair.continuation.begin());
    }
    pair.context = {token};
    return pair;
  }
  pair.context = encode_prompt(tokenizer, kept, prefix);
  const std::vector<std::int32_t> ids = encode_prompt(tokenizer, whole, prefix);
  const std::size_t split = std::min(pair.context.size(), ids.size());
  pair.continuation.assign(ids.begin() + static_cast<std::ptrdiff_t>(split), ids.end());
  return pair;
}

std::vector<infer::ScoreRequest> rolling_windows(std::span<const std::int32_t> tokens, std::int32_t prefix,
                                                 std::int64_t max_length) {
  const auto window = static_cast<std::size_t>(max_length);
  std::vector<infer::ScoreRequest> windows;
  for (std::size_t begin = 0; begin < tokens.size();) {
    const std::size_t end = std::min(begin + window, tokens.size());
    infer::ScoreRequest& next = windows.emplace_back();
    next.continuation.assign(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                             tokens.begin() + static_cast<std::ptrdiff_t>(end));
    if (begin == 0) {
      next.context = {prefix};
    } else {
      // The last token is predicted but not fed, so that window + 1 tokens fit.
      next.context.assign(tokens.begin() + static_cast<std::ptrdiff_t>(end - window - 1),
                          tokens.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    begin = end;
  }
  return windows;
}

}  // namespace crope::eval
