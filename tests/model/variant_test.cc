#include "crope/model/variant.h"

#include <gtest/gtest.h>

namespace crope::model {
namespace {

TEST(Variant, TheTableIsInTheOrderOfTheEnumeration) {
  for (const VariantTraits& row : kVariants) {
    EXPECT_EQ(&traits(row.variant), &row);
    EXPECT_EQ(variant_by_name(row.name), row.variant);
  }
}

TEST(Variant, AnUnknownNameGetsASuggestion) {
  try {
    variant_by_name("crope-all");
    FAIL() << "nothing was thrown";
  } catch (const UsageError& e) {
    EXPECT_EQ(e.hint(), "did you mean 'crope_all'?");
  }
}

}  // namespace
}  // namespace crope::model
