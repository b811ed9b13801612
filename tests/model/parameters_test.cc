#include "crope/model/parameters.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

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

// Tied and half-width models of the same budget differ in the gains of QK-norm alone: K per norm or K/2.
TEST(Parameters, MatchedVariantsAtThePapersSize) {
  const auto difference = [](Variant tied, Variant half, Gain qk_gain) {
    ModelConfig one = paper(tied), other = paper(half);
    one.qk_gain = other.qk_gain = qk_gain;
    return count_parameters(one).total() - count_parameters(other).total();
  };
  for (const auto& [tied, half] :
       {std::pair{Variant::crope_qk, Variant::half_rope_qk}, std::pair{Variant::crope_all, Variant::half_rope_all}}) {
    EXPECT_EQ(difference(tied, half, Gain::free), 2'048);
    EXPECT_EQ(difference(tied, half, Gain::pair), 1'024);
    EXPECT_EQ(difference(tied, half, Gain::none), 0);
  }
}

TEST(Parameters, GainsPerPairAreHalfAsMany) {
  ModelConfig config = paper(Variant::crope_all);
  const std::int64_t others = 16 * 2 * 1024 + 1024, heads = 16 * 2 * 128;  // two norms a layer and the last; q and k
  EXPECT_EQ(count_parameters(config).norm, others + heads);
  config.qk_gain = Gain::pair;
  EXPECT_EQ(count_parameters(config).norm, others + heads / 2);
  config.norm_gain = Gain::pair;
  EXPECT_EQ(count_parameters(config).norm, others / 2 + heads / 2);
  config.qk_gain = Gain::none;
  EXPECT_EQ(count_parameters(config).norm, others / 2);
  for (const ParameterSpec& spec : parameter_specs(config)) {
    EXPECT_EQ(spec.name.find("q_norm"), std::string::npos) << spec.name;
    if (spec.role != Role::gain) continue;
    EXPECT_TRUE(spec.paired_dimensions.empty()) << spec.name << ": one number per pair has no layout of its own";
  }
}

// Tied heads of twice the width have as many attention parameters as dense ones.
TEST(Parameters, WideTiedHeadsCostWhatDenseOnesDo) {
  ModelConfig wide = paper(Variant::crope_all);
  wide.head_dim = 256;
  EXPECT_EQ(count_parameters(wide).attention, count_parameters(paper(Variant::rope)).attention);
  EXPECT_EQ(count_parameters(wide).attention, 67'108'864);
  EXPECT_EQ(count_parameters(wide).feed_forward, count_parameters(paper(Variant::rope)).feed_forward);
}

TEST(Parameters, TheListAddsUpToTheCounts) {
  for (const VariantTraits& variant : kVariants) {
    for (const auto& [qk_gain, norm_gain] : std::vector<std::pair<Gain, Gain>>{
             {Gain::free, Gain::free}, {Gain::pair, Gain::pair}, {Gain::none, Gain::free}}) {
      ModelConfig config = paper(variant.variant);
      config.num_layers = 3;
      config.qk_gain = qk_gain;
      config.norm_gain = norm_gain;
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
      EXPECT_EQ(total, count_parameters(config).total()) << variant.name << " " << config.qk_gain.name();
    }
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
