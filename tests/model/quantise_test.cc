#include "crope/model/quantise.h"

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using ops::WeightType;
using torch::Tensor;

ModelConfig odd_sizes(Variant variant) {
  return {.vocab_size = 19,
          .num_layers = 2,
          .num_heads = 2,
          .d_model = 40,
          .d_ff = 33,
          .max_seq_len = 16,
          .variant = variant};
}

TEST(Quantise, MatricesAreRoundedAndGainsAreNot) {
  for (const VariantTraits& variant : kVariants) {
    const Transformer model = make_random_transformer(odd_sizes(variant.variant));
    for (const WeightType type : {WeightType::int8, WeightType::int4}) {
      const Transformer narrow = quantise(model, type);
      EXPECT_EQ(weight_type(narrow), type);
      for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        const Parameter &before = model.parameters[i], &after = narrow.parameters[i];
        if (before.spec.role == Role::gain) {
          EXPECT_TRUE(at::equal(after.value, before.value));
          continue;
        }
        const bool is_vocabulary = before.spec.component == Component::embedding;
        ASSERT_TRUE(after.quantised);
        EXPECT_EQ(after.quantised->type, is_vocabulary ? WeightType::int8 : type) << before.spec.name;
        test::expect_close(ops::widened(*after.quantised), before.value, type == WeightType::int8 ? 0.01 : 0.1);
      }
      EXPECT_EQ(ops::view(narrow.blocks[0].attention.qkv[0]).is_pair(), variant.ties_qk);
    }
  }
}

TEST(Quantise, TheTypeOfAModel) {
  const ModelConfig config = odd_sizes(Variant::rope);
  EXPECT_EQ(weight_type(make_random_transformer(config)), WeightType::fp32);
  EXPECT_EQ(weight_type(make_random_transformer(config, {}, torch::kBFloat16)), WeightType::bf16);
}

TEST(Quantise, ConjugateLinearPartsAreRefusedByName) {
  ModelConfig config = odd_sizes(Variant::crope_all);
  config.conjugate_scale = 0.5;
  try {
    quantise(make_random_transformer(config), WeightType::int8);
    FAIL() << "quantised";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("blocks.0.attention.q.conjugate_a"), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("conjugate_scale"), std::string::npos);
  }
}

// Every matrix is rounded for what it reads: inputs that only a few directions have.
TEST(Quantise, MomentsReachTheirMatrices) {
  for (const Variant variant : {Variant::rope, Variant::crope_qk, Variant::crope_all}) {
    const Transformer model = make_random_transformer(odd_sizes(variant));
    const auto inputs_of = [](int64_t width) { return at::matmul(at::randn({200, 5}), at::randn({5, width})); };
    const Tensor attention = inputs_of(40), o = inputs_of(40), feed_forward = inputs_of(40), down = inputs_of(33);
    const auto moments_of = [](const Tensor& x) { return at::matmul(x.t(), x) / x.size(0); };
    const InputMoments block{moments_of(attention), moments_of(o), moments_of(feed_forward), moments_of(down)};
    const Transformer plain = quantise(model, WeightType::int4), chosen = quantise_for(model, {block, block});
    EXPECT_EQ(weight_type(chosen), WeightType::int4);
    const auto error_of = [&](const ops::Weight& narrow, const ops::Weight& wide, const Tensor& x) {
      return test::relative_error(ops::project(x, ops::widened(narrow)), ops::project(x, wide));
    };
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const Block &wide = model.blocks[layer], &before = plain.blocks[layer], &after = chosen.blocks[layer];
      const auto expect_better = [&](const auto& weight_of, const Tensor& x, const char* name) {
        EXPECT_LT(error_of(weight_of(after), weight_of(wide), x), 0.6 * error_of(weight_of(before), weight_of(wide), x))
            << traits(variant).name << " " << name;
      };
      for (std::size_t i = 0; i < 3; ++i) {
        expect_better([&](const Block& b) { return b.attention.qkv[i]; }, attention, "qkv");
      }
      expect_better([](const Block& b) { return b.attention.o; }, o, "o");
      expect_better([](const Block& b) { return b.feed_forward.gate; }, feed_forward, "gate");
      expect_better([](const Block& b) { return b.feed_forward.up; }, feed_forward, "up");
      expect_better([](const Block& b) { return b.feed_forward.down; }, down, "down");
    }
  }
}

TEST(Quantise, NamesWhatIsNotFinite) {
  Transformer model = make_random_transformer(odd_sizes(Variant::rope));
  std::get<ops::DenseWeight>(model.blocks[1].feed_forward.down).weight[3][4] = NAN;
  try {
    quantise(model, WeightType::int8);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("blocks.1.feed_forward.down.weight"), std::string::npos) << e.what();
  }
}

// A quantised directory can be looked into and trained from: it is widened.
TEST(Quantise, LayersOfAQuantisedModelAreThoseOfItsWidenedWeights) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  for (const Variant variant : {Variant::rope, Variant::crope_all}) {
    const std::filesystem::path dir = folder / std::string(traits(variant).name);
    const Transformer narrow = quantise(make_random_transformer(odd_sizes(variant)), WeightType::int4);
    save_model(narrow, dir);
    const Transformer wide = load_model(dir, log);
    EXPECT_EQ(weight_type(wide), WeightType::fp32);
    const Tensor ids = at::randint(0, 19, {1, 12}, at::kLong);
    const LayerInput one = layer_input(narrow, ids, 1), other = layer_input(wide, ids, 1);
    test::expect_close(one.x, other.x, 1e-6);
    EXPECT_TRUE(at::equal(ops::dense_matrix(one.block.attention.o), ops::dense_matrix(other.block.attention.o)));
  }
}

}  // namespace
}  // namespace crope::model
