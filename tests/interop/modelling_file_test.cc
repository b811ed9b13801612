#include "crope/interop/modelling_file.h"

#include <gtest/gtest.h>

#include <string>

namespace crope::interop {
namespace {

// The modules of the package are one file: what they import from each other is gone.
TEST(ModellingFile, ImportsNothingOfThePackage) {
  const std::string_view source = modelling_source();
  EXPECT_EQ(source.find("\nfrom ."), std::string_view::npos);
  EXPECT_EQ(source.find("import crope"), std::string_view::npos);
  for (const char* part :
       {"class ModelConfig", "class BlockLinear", "class CRopeAttention", "class CRopeForCausalLM"}) {
    EXPECT_NE(source.find(part), std::string_view::npos) << part;
  }
}

}  // namespace
}  // namespace crope::interop
