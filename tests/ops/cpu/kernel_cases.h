// What the tests of kernels share: numbers, and every instruction set of the machine in turn.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "crope/base/random.h"
#include "crope/ops/cpu/isa.h"

namespace crope::ops::cpu::test {

inline std::vector<float> draw_floats(const std::string& name, std::int64_t count) {
  const RandomStream random(1, name);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(random.normal_at(static_cast<std::uint64_t>(i))));
  }
  return values;
}

// The upper halves of floats, and the floats they stand for.
struct Bf16Values {
  std::vector<std::uint16_t> bits;
  std::vector<float> values;
};
inline Bf16Values draw_bf16(const std::string& name, std::int64_t count) {
  Bf16Values result;
  for (const float value : draw_floats(name, count)) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits &= 0xFFFF0000u;
    float exact;
    std::memcpy(&exact, &bits, sizeof(exact));
    result.bits.push_back(static_cast<std::uint16_t>(bits >> 16));
    result.values.push_back(exact);
  }
  return result;
}

inline void on_every_instruction_set(const std::function<void()>& check) {
  const std::string before = instruction_set();
  for (const std::string& name : available_instruction_sets()) {
    SCOPED_TRACE(name);
    use_instruction_set(name);
    check();
  }
  use_instruction_set(before);
}

}  // namespace crope::ops::cpu::test
