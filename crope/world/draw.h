// Random draws, and the fingerprint that decides whether a drawn item may be trained on.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "crope/base/content_hash.h"
#include "crope/base/random.h"

namespace crope::world {

// Training documents draw from one side and benchmarks from the other, whatever the seed.
enum class Side { training, benchmark };

// The facts of one item, without the words in which it is told: facts in another order have the same fingerprint.
class Fingerprint {
 public:
  // Words that belong together, in this order.
  void add(std::initializer_list<std::string_view> words) {
    std::uint64_t fact = 0;
    for (const std::string_view word : words) fact = content_hash(std::as_bytes(std::span(word)), fact);
    sum_ += fact;
  }

  std::uint64_t value() const { return sum_; }

  // One in eight is kept for the benchmarks.
  Side side() const {
    return content_hash(std::as_bytes(std::span(&sum_, 1))) % 8 == 0 ? Side::benchmark : Side::training;
  }

 private:
  std::uint64_t sum_ = 0;
};

template <typename Range>
const auto& pick(const Range& from, RandomStream& random) {
  return from[random.below(std::size(from))];
}

template <typename Range>
void shuffle(Range& range, RandomStream& random) {
  for (std::size_t i = range.size(); i > 1; --i) std::swap(range[i - 1], range[random.below(i)]);
}

// `count` different elements in random order. REQUIRES: there are as many.
template <typename T>
std::vector<T> sample(std::span<const T> from, std::size_t count, RandomStream& random) {
  std::vector<T> drawn(from.begin(), from.end());
  shuffle(drawn, random);
  drawn.erase(drawn.begin() + static_cast<std::ptrdiff_t>(count), drawn.end());
  return drawn;
}

// True once in `of` times.
inline bool one_in(std::uint64_t of, RandomStream& random) {
  return random.below(of) == 0;
}

// Uniform in [low, high].
inline int between(int low, int high, RandomStream& random) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

// A word of a list. In training each word is a third as frequent as the previous one, so that a model knows the first
// well and the last hardly; benchmarks ask about all of them alike.
inline std::string_view pick_word(std::span<const std::string_view> words, Side side, RandomStream& random) {
  if (side == Side::benchmark) return pick(words, random);
  std::size_t place = 0;
  while (place + 1 < words.size() && one_in(3, random)) ++place;
  return words[place];
}

// Draws until the result is on `side`.
template <typename Draw>
auto draw_on(Side side, const Draw& draw) {
  for (;;) {
    auto drawn = draw();
    if (drawn.fingerprint.side() == side) return drawn;
  }
}

}  // namespace crope::world
