// Drawing from the tables, and the fingerprint of what was drawn, which alone decides whether it may be trained on.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "crope/base/random.h"
#include "crope/data/world_tables.h"

namespace crope::data {

// Training documents draw from one side and benchmarks from the other, whatever the seed.
enum class Side { training, benchmark };

// Of the facts of one story or problem, without the words in which it is told: what is the same in other words has the
// same fingerprint, in whichever order the parts are added.
class Fingerprint {
 public:
  explicit Fingerprint(std::string_view kind);

  // Words that belong together, in order: a key, its link, its value.
  void add(std::initializer_list<std::string_view> words);
  void add(std::string_view name, std::int64_t number);

  std::uint64_t value() const { return sum_; }

  // One in eight is kept for the benchmarks.
  Side side() const;

 private:
  std::uint64_t sum_;
};

// REQUIRES: the elements outlive a temporary range, as those of a span do.
template <typename Range>
const auto& pick(const Range& from, RandomStream& random) {
  return from[random.below(std::size(from))];
}

template <typename Range>
void shuffle(Range& range, RandomStream& random) {
  for (std::size_t i = range.size(); i > 1; --i) std::swap(range[i - 1], range[random.below(i)]);
}

// True once in `of` times.
inline bool one_in(std::uint64_t of, RandomStream& random) {
  return random.below(of) == 0;
}

// Uniform in [low, high].
inline int between(int low, int high, RandomStream& random) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

// The words of a pool in random order, each handed out once.
class Deck {
 public:
  Deck(Pool pool, RandomStream& random) : words_(words_of(pool)), random_(random) {}

  // REQUIRES: fewer were taken than the pool has.
  const Phrase* take();

 private:
  std::span<const Phrase> words_;
  RandomStream& random_;
  std::uint64_t taken_ = 0;  // one bit for each word
};

// Four facts with subjects and properties all different.
std::array<const Fact*, 4> draw_facts(Relation relation, RandomStream& random);

}  // namespace crope::data
