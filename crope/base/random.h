// Random numbers that are the same on every machine: a stream is a seed and a name, and its n-th value can be asked
// for directly. Streams of different names are independent, so that adding one never moves another.
#pragma once

#include <cstdint>
#include <string_view>

namespace crope {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  // The value at place `index` of the stream: 64 independent bits. Does not move the stream.
  std::uint64_t bits_at(std::uint64_t index) const;

  // Uniform in [0, 1) with 53 bits.
  double uniform_at(std::uint64_t index) const;

  // Standard normal (Box-Muller on the values at 2*index and 2*index + 1).
  double normal_at(std::uint64_t index) const;

  // The next value, moving the stream by one place.
  std::uint64_t bits() { return bits_at(position_++); }
  double uniform() { return uniform_at(position_++); }

  // Uniform in [0, bound), without bias. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound);

  // How many values have been taken; all there is to save and restore besides seed and name.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) { position_ = position; }

 private:
  std::uint64_t key_;
  std::uint64_t position_ = 0;
};

}  // namespace crope
