#include "crope/text/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "crope/base/error.h"
#include "crope/text/byte_alphabet.h"

namespace crope::text {
namespace {

constexpr std::int64_t kLargestVocabulary = std::int64_t{1} << 24;
constexpr std::size_t kProgressInterval = 64;

// Two neighbouring tokens, how often they occur together, and where.
struct Pair {
  std::int32_t left;
  std::int32_t right;
  std::int64_t count = 0;
  std::vector<std::uint32_t> words = {};  // all that have it, perhaps some that had it
  std::size_t touched_by = 0;             // the merge that last raised its count
  bool is_merged = false;
};

// Finds pairs by their tokens: open addressing, at most half full.
class PairIndex {
 public:
  PairIndex() : slots_(1 << 12, kEmpty) {}

  // The place of the pair in `pairs`, where it is appended if it is new.
  std::uint32_t find_or_add(std::int32_t left, std::int32_t right, std::vector<Pair>& pairs) {
    std::size_t slot = first_slot(left, right);
    for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1)) {
      const Pair& pair = pairs[slots_[slot]];
      if (pair.left == left && pair.right == right) return slots_[slot];
    }
    const auto place = static_cast<std::uint32_t>(pairs.size());
    pairs.push_back({.left = left, .right = right});
    slots_[slot] = place;
    if (pairs.size() * 2 > slots_.size()) grow(pairs);
    return place;
  }

 private:
  static constexpr std::uint32_t kEmpty = UINT32_MAX;

  std::size_t first_slot(std::int32_t left, std::int32_t right) const {
    std::uint64_t hash = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
    hash = (hash ^ hash >> 31) * 0x9E3779B97F4A7C15;
    return (hash ^ hash >> 32) & (slots_.size() - 1);
  }

  void grow(const std::vector<Pair>& pairs) {
    slots_.assign(slots_.size() * 2, kEmpty);
    for (std::uint32_t place = 0; place < pairs.size(); ++place) {
      std::size_t slot = first_slot(pairs[place].left, pairs[place].right);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = place;
    }
  }

  std::vector<std::uint32_t> slots_;
};

class Trainer {
 public:
  Trainer(const WordCounts& words, const BpeTrainerOptions& options) : counts_(words.counts()) {
    for (const std::string& special : options.special_tokens) {
      vocabulary_.special_tokens.push_back({special, add_token(special)});
    }
    std::array<std::int32_t, 256> byte_ids{};
    for (const std::uint8_t byte : bytes_in_vocabulary_order()) {
      byte_ids[byte] = add_token(std::string(1, static_cast<char>(byte)));
    }
    for (const std::string& word : words.words()) {
      begins_.push_back(symbols_.size());
      for (const char byte : word) symbols_.push_back(byte_ids[static_cast<std::uint8_t>(byte)]);
      sizes_.push_back(word.size());
    }
    for (std::size_t word = 0; word < begins_.size(); ++word) {
      for (std::size_t i = 1; i < sizes_[word]; ++i) {
        raise(symbols_[begins_[word] + i - 1], symbols_[begins_[word] + i], word);
      }
    }
    offer_touched();
  }

  Vocabulary run(const BpeTrainerOptions& options) {
    while (vocabulary_.tokens.size() < static_cast<std::size_t>(options.vocab_size)) {
      const std::optional<std::uint32_t> best = find_best();
      if (!best || pairs_[*best].count < options.min_count) break;
      merge(*best);
      if (vocabulary_.merges.size() % kProgressInterval == 0) options.on_progress(vocabulary_.tokens.size());
    }
    return std::move(vocabulary_);
  }

 private:
  struct Candidate {
    std::int64_t count;
    std::uint32_t pair;
  };

  std::int32_t add_token(std::string bytes) {
    const auto id = static_cast<std::int32_t>(vocabulary_.tokens.size());
    const auto [place, is_new] = ids_.emplace(bytes, id);
    if (is_new) vocabulary_.tokens.push_back(std::move(bytes));
    return place->second;
  }

  bool is_worse(const Candidate& a, const Candidate& b) const {
    if (a.count != b.count) return a.count < b.count;
    const auto& tokens = vocabulary_.tokens;
    const Pair& x = pairs_[a.pair];
    const Pair& y = pairs_[b.pair];
    const int left = x.left == y.left ? 0 : tokens[x.left].compare(tokens[y.left]);
    return left != 0 ? left < 0 : tokens[x.right] < tokens[y.right];
  }

  // Candidates keep the count they were offered with. One that has fallen since goes back to its place in the queue;
  // none can have risen unnoticed, because a raised pair is offered again.
  std::optional<std::uint32_t> find_best() {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      const std::int64_t count = pairs_[top.pair].count;
      if (top.count == count) return top.pair;
      queue_.pop();
      if (count > 0 && count < top.count) queue_.push({count, top.pair});
    }
    return std::nullopt;
  }

  void raise(std::int32_t left, std::int32_t right, std::size_t word) {
    const std::uint32_t place = index_.find_or_add(left, right, pairs_);
    Pair& pair = pairs_[place];
    pair.count += counts_[word];
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(static_cast<std::uint32_t>(word));
    if (pair.touched_by == turn_) return;
    pair.touched_by = turn_;
    touched_.push_back(place);
  }

  void lower(std::int32_t left, std::int32_t right, std::size_t word) {
    pairs_[index_.find_or_add(left, right, pairs_)].count -= counts_[word];
  }

  void offer_touched() {
    for (const std::uint32_t place : touched_) {
      if (pairs_[place].count > 0) queue_.push({pairs_[place].count, place});
    }
    touched_.clear();
    ++turn_;
  }

  void merge(std::uint32_t place) {
    const std::int32_t left = pairs_[place].left, right = pairs_[place].right;
    const std::int32_t result = add_token(vocabulary_.tokens[left] + vocabulary_.tokens[right]);
    // A token of two merges can bring a pair back that was merged before.
    if (!std::exchange(pairs_[place].is_merged, true)) vocabulary_.merges.push_back({left, right, result});
    const std::vector<std::uint32_t> words = std::move(pairs_[place].words);
    for (const std::uint32_t word : words) merge_in_word(word, left, right, result);
    pairs_[place].words.clear();
    pairs_[place].count = 0;
    offer_touched();
  }

  void merge_in_word(std::size_t word, std::int32_t left, std::int32_t right, std::int32_t result) {
    std::int32_t* const symbols = symbols_.data() + begins_[word];
    const std::size_t size = sizes_[word];
    std::size_t written = 0;
    for (std::size_t i = 0; i < size;) {
      if (i + 1 == size || symbols[i] != left || symbols[i + 1] != right) {
        symbols[written++] = symbols[i++];
        continue;
      }
      if (written > 0) {
        lower(symbols[written - 1], left, word);
        raise(symbols[written - 1], result, word);
      }
      if (i + 2 < size) {
        lower(right, symbols[i + 2], word);
        raise(result, symbols[i + 2], word);
      }
      symbols[written++] = result;
      i += 2;
    }
    sizes_[word] = written;
  }

  const std::vector<std::int64_t>& counts_;  // by word
  Vocabulary vocabulary_;
  std::unordered_map<std::string, std::int32_t> ids_;
  // Word w is symbols_[begins_[w]], …, sizes_[w] of them.
  std::vector<std::int32_t> symbols_;
  std::vector<std::size_t> begins_;
  std::vector<std::size_t> sizes_;
  std::vector<Pair> pairs_;
  PairIndex index_;
  std::vector<std::uint32_t> touched_;
  std::size_t turn_ = 1;
  struct Worse {
    const Trainer* trainer;
    bool operator()(const Candidate& a, const Candidate& b) const { return trainer->is_worse(a, b); }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, Worse> queue_{Worse{this}};
};

}  // namespace

void check_options(const BpeTrainerOptions& options) {
  const auto& special = options.special_tokens;
  const auto least = static_cast<std::int64_t>(256 + special.size());
  if (options.vocab_size < least || options.vocab_size > kLargestVocabulary) {
    throw UsageError(fmt::format("a vocabulary of {}: expected {} (256 bytes and the special tokens, {}) to {}",
                                 options.vocab_size, least, special.size(), kLargestVocabulary));
  }
  for (const std::string& token : special) {
    if (token.empty()) throw UsageError("a special token is empty");
    if (std::ranges::count(special, token) > 1)
      throw UsageError(fmt::format("special token '{}' is given twice", token));
  }
}

Vocabulary train_bpe(const WordCounts& words, const BpeTrainerOptions& options) {
  check_options(options);
  Vocabulary vocabulary = Trainer(words, options).run(options);
  vocabulary.check("trained vocabulary");
  return vocabulary;
}

}  // namespace crope::text
