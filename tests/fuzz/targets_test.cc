// The targets of `make fuzz` on mutants of their seeds.
#include "tests/fuzz/targets.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/fuzz/mutation.h"

namespace crope::test {
namespace {

class Targets : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Targets, TakeTheirSeedsAndRefuseOrReadMutants) {
  constexpr std::array<std::string_view, 20> kWords = {
      "{",    "}",    "[",   "]",       ",",        ":",     "\"",    "\\u",        "\\ud800",        "null",
      "true", "rope", "F32", "\"BPE\"", "\"step\"", "shape", "dtype", "weight_map", "\"max_tokens\"", "\"prompt\""};
  int number = 0;
  for (const std::string& seed : GetParam().seeds()) {
    // The seed of several lines is not one line.
    if (std::string_view(GetParam().name) != "json_line") {
      EXPECT_NO_THROW(GetParam().read(seed)) << number;
    }
    fuzz_text(GetParam().name + std::to_string(number++), seed, kWords,
              [](const std::string& mutant) { GetParam().read(mutant); });
  }
}

INSTANTIATE_TEST_SUITE_P(All, Targets, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace crope::test
