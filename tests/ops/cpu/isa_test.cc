#include "crope/ops/cpu/isa.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::ops::cpu {
namespace {

TEST(Isa, EveryAvailableSetCanBeUsed) {
  const std::string before = instruction_set();
  const auto sets = available_instruction_sets();
  ASSERT_FALSE(sets.empty());
  for (const std::string& name : sets) {
    use_instruction_set(name);
    EXPECT_EQ(instruction_set(), name);
    EXPECT_EQ(available_instruction_sets(), sets) << "the choice does not shorten the list";
  }
  use_instruction_set(before);
}

TEST(Isa, AnUnknownSetIsRefusedWithTheList) {
  try {
    use_instruction_set("avx3000");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("avx3000"), std::string::npos);
    EXPECT_FALSE(error.hint().empty());
  }
}

}  // namespace
}  // namespace crope::ops::cpu
