// 16-bit floats (IEEE 754 binary16) as their bits, for files and kernels without LibTorch.
#pragma once

#include <bit>
#include <cstdint>

namespace crope {

constexpr float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
  if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | (magnitude << 13));
  // The exponents differ by 112: a product, so that numbers without a leading one come out right.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f));
}

// To the nearest, ties to even; beyond the largest, infinity.
constexpr std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7FFFFFFFu;
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const auto with_sign = [&](std::uint32_t rest) { return static_cast<std::uint16_t>(sign | rest); };
  if (magnitude > 0x7F800000u) return with_sign(0x7E00u);   // not a number
  if (magnitude >= 0x47800000u) return with_sign(0x7C00u);  // 65,536 and more
  if (magnitude < 0x38800000u) {                            // below 2^-14: the sum with 1/2 ends at 2^-24
    return with_sign(std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u);
  }
  return with_sign((magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13);
}

}  // namespace crope
