// Python's random.Random, as far as lm_eval draws few-shot examples with it: the same seed gives the same examples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace crope::eval {

// The Mersenne Twister, seeded as random.Random(seed) is.
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed);

  // random.sample(range(population), count): different places, in the order drawn.
  // REQUIRES: count <= population < 2^32.
  std::vector<std::size_t> sample(std::size_t population, std::size_t count);

 private:
  std::uint32_t next();
  std::size_t below(std::size_t limit);

  static constexpr std::size_t kWords = 624;
  std::array<std::uint32_t, kWords> state_;
  std::size_t used_ = kWords;
};

}  // namespace crope::eval
