#include "crope/model/parameters.h"

#include <gtest/gtest.h>

#include <set>

namespace crope::model {
namespace {

ModelConfig paper(Variant variant) {
  ModelConfig config;
  config.variant = variant;
  return config;
}

// The paper's Figure param_counts.
TEST(Parameters, CountsAtThePapersSize) {
  EXPECT_EQ(count_parameters(paper(Variant::rope)).total(), 168'989'696);
  EXPECT_EQ(count_parameters(paper(Variant::rope)).attention, 67'108'864);
  EXPECT_EQ(count_parameters(paper(Variant::crope_qk)).attention, 50'331'648);
  EXPECT_EQ(count_parameters(paper(Variant::crope_qkv)).attention, 41'943'040);
  EXPECT_EQ(count_parameters(paper(Variant::crope_all)).attention, 33'554'432);
  EXPECT_EQ(count_parameters(paper(Variant::half_rope_qk)).attention, 50'331'648);
  EXPECT_EQ(count_parameters(paper(Variant::half_rope_all)).attention, 33'554'432);
  EXPECT_EQ(attention_saving(paper(Variant::crope_qk)), 0.25);
  EXPECT_EQ(attention_saving(paper(Variant::crope_qkv)), 0.375);
  EXPECT_EQ(attention_saving(paper(Variant::crope_all)), 0.5);
}

TEST(Parameters, TheListAddsUpToTheCounts) {
  for (const VariantTraits& variant : kVariants) {
    ModelConfig config = paper(variant.variant);
    config.num_layers = 3;
    std::int64_t total = 0;
    std::set<std::string> names;
    const std::vector<ParameterSpec> specs = parameter_specs(config);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      total += specs[i].size();
      EXPECT_TRUE(names.insert(specs[i].name).second) << specs[i].name;
      if (specs[i].role != Role::pair_a) continue;
      ASSERT_LT(i + 1, specs.size());
      EXPECT_EQ(specs[i + 1].role, Role::pair_b);
      EXPECT_EQ(specs[i + 1].shape, specs[i].shape);
    }
    EXPECT_EQ(total, count_parameters(config).total()) << variant.name;
  }
}

TEST(Parameters, FanInIsTheRealWidthOfTheInput) {
  for (const Variant variant : {Variant::rope, Variant::crope_all}) {
    for (const ParameterSpec& spec : parameter_specs(paper(variant))) {
      if (spec.component != Component::attention) continue;
      EXPECT_EQ(spec.fan_in(), 1024) << spec.name;
    }
  }
}

}  // namespace
}  // namespace crope::model
