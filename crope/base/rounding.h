// Divisions of whole numbers that round up. REQUIRES: what is divided >= 0, what it is divided by > 0.
#pragma once

#include <concepts>
#include <type_traits>

namespace crope {

template <std::integral Number>
constexpr Number divide_up(Number value, std::type_identity_t<Number> by) {
  return (value + by - 1) / by;
}

// The next multiple of `unit`.
template <std::integral Number>
constexpr Number round_up(Number value, std::type_identity_t<Number> unit) {
  return divide_up(value, unit) * unit;
}

// The size of pieces that are nearly alike, as few as possible and at most `most` each. REQUIRES: value > 0.
template <std::integral Number>
constexpr Number even_piece(Number value, std::type_identity_t<Number> most) {
  return divide_up(value, divide_up(value, most));
}

}  // namespace crope
