#include "crope/text/word_counts.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "crope/base/error.h"
#include "crope/text/pretokenizer.h"

namespace crope::text {
namespace {

// Calls take() with the text between special tokens; of several that start at one place the longest is meant.
template <typename Take>
void split_at_special(std::string_view text, std::span<const std::string> special_tokens, const Take& take) {
  // Where each stands next; looked for again only when the text before it has been used up.
  std::vector<std::size_t> places;
  for (const std::string& special : special_tokens) places.push_back(text.find(special));
  for (std::size_t begin = 0;;) {
    std::size_t first = std::string_view::npos;
    std::size_t length = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < begin) places[i] = text.find(special_tokens[i], begin);
      if (places[i] < first || (places[i] == first && special_tokens[i].size() > length)) {
        first = places[i];
        length = special_tokens[i].size();
      }
    }
    if (first == std::string_view::npos) return take(text.substr(begin));
    take(text.substr(begin, first - begin));
    begin = first + length;
  }
}

}  // namespace

void WordCounts::add_text(std::string_view text) {
  const char* const text_end = text.data() + text.size();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin);
    ++counts_[index_of(text.substr(begin, end - begin), text_end)];
    begin = end;
  }
}

std::size_t WordCounts::index_of(std::string_view word, const char* readable_end) {
  const WordKey key = WordKey::of(word, readable_end);
  if (const auto known = places_.find(key)) return *known;
  places_.insert(key, static_cast<std::uint32_t>(words_.size()));
  words_.emplace_back(word);
  counts_.push_back(0);
  return words_.size() - 1;
}

WordCounts count_words(const DocumentSource& next_document, std::span<const std::string> special_tokens, int threads) {
  for (const std::string& special : special_tokens) {
    if (special.empty()) throw UsageError("a special token is empty");
  }
  std::mutex mutex;
  std::exception_ptr failure;
  bool is_done = false;
  std::vector<WordCounts> shares(static_cast<std::size_t>(std::max(threads, 1)));
  const auto run = [&](WordCounts& share) {
    try {
      std::string document;
      while (true) {
        {
          const std::lock_guard lock(mutex);
          if (is_done || !next_document(document)) {
            is_done = true;
            return;
          }
        }
        split_at_special(document, special_tokens, [&](std::string_view text) { share.add_text(text); });
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      is_done = true;
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> crew;
    for (std::size_t i = 1; i < shares.size(); ++i) crew.emplace_back([&run, &share = shares[i]] { run(share); });
    run(shares[0]);
  }
  if (failure) std::rethrow_exception(failure);
  for (std::size_t i = 1; i < shares.size(); ++i) {
    for (std::size_t word = 0; word < shares[i].words().size(); ++word) {
      shares[0].add_word(shares[i].words()[word], shares[i].counts()[word]);
    }
    shares[i] = WordCounts();
  }
  return std::move(shares[0]);
}

}  // namespace crope::text
