#include "crope/interop/upcycle.h"

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/gguf_export.h"
#include "crope/interop/gguf_model.h"
#include "crope/interop/hf_export.h"
#include "crope/interop/hf_import.h"
#include "crope/interop/hf_native_export.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/golden_models.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using model::Variant;
using torch::Tensor;

model::Transformer golden(const std::string& variant) {
  Log log(nullptr);
  return model::load_model(fs::path(CROPE_SOURCE_DIR) / "tests/data/goldens" / variant, log);
}

Tensor logits_of(const model::Transformer& model) {
  const at::NoGradGuard no_grad;
  return model::logits(model, at::arange(40, torch::kInt64).mul(7).remainder(97).view({2, 20}));
}

// The dense form of a tied model.
model::Transformer densified(const model::Transformer& tied) {
  model::ModelConfig config = tied.config;
  config.variant = Variant::rope;
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < tied.parameters.size(); ++i) {
    const model::Parameter& parameter = tied.parameters[i];
    if (parameter.spec.role == model::Role::pair_b) continue;
    values.push_back(parameter.spec.role == model::Role::pair_a
                         ? ops::expand({parameter.value, tied.parameters[i + 1].value})
                         : parameter.value);
  }
  return model::make_transformer(config, values);
}

class Upcycle : public testing::TestWithParam<std::tuple<const char*, UpcycleMethod>> {};

TEST_P(Upcycle, WhatIsTiedAlreadyStaysTheSame) {
  const auto& [name, method] = GetParam();
  const model::Transformer tied = golden(name);
  const UpcycledModel back = upcycle(densified(tied), tied.config.variant, method);
  test::expect_close(logits_of(back.model), logits_of(tied), 1e-4, name);
  for (const KeptEnergy& layer : back.kept) {
    EXPECT_NEAR(layer.q, 1, 1e-6);
    EXPECT_NEAR(layer.k, 1, 1e-6);
    EXPECT_NEAR(layer.vo, 1, 1e-6);
  }
}

TEST_P(Upcycle, EverythingElseIsKept) {
  const auto& [name, method] = GetParam();
  const model::Transformer dense = golden("rope");
  const UpcycledModel made = upcycle(dense, model::variant_by_name(name), method);
  EXPECT_EQ(made.model.config.variant, model::variant_by_name(name));
  ASSERT_EQ(made.kept.size(), dense.blocks.size());
  const bool ties_v = made.model.config.variant != Variant::crope_qk;
  for (std::size_t i = 0; i < dense.blocks.size(); ++i) {
    EXPECT_EQ(made.kept[i].layer, static_cast<std::int64_t>(i));
    EXPECT_EQ(made.kept[i].v.has_value(), !ties_v || method == UpcycleMethod::plain);
    EXPECT_TRUE(at::equal(made.model.blocks[i].attention.q_norm, dense.blocks[i].attention.q_norm));
    EXPECT_TRUE(at::equal(made.model.blocks[i].attention.k_norm, dense.blocks[i].attention.k_norm));
    test::expect_close(made.model.blocks[i].feed_forward_norm.sum(), dense.blocks[i].feed_forward_norm.sum(), 1e-6);
  }
  test::expect_close(made.model.embedding.square().sum(1), dense.embedding.square().sum(1), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(AllTied, Upcycle,
                         testing::Combine(testing::Values("crope_qk", "crope_qkv", "crope_all"),
                                          testing::Values(UpcycleMethod::plain, UpcycleMethod::fitted)),
                         [](const auto& info) {
                           const bool plain = std::get<1>(info.param) == UpcycleMethod::plain;
                           return std::string(std::get<0>(info.param)) + (plain ? "_plain" : "_fitted");
                         });

TEST(UpcycleMethods, PlainIsLeastSquaresAndFittedKeepsMore) {
  const model::Transformer dense = golden("rope");
  for (const Variant variant : {Variant::crope_qkv, Variant::crope_all}) {
    const UpcycledModel plain = upcycle(dense, variant, UpcycleMethod::plain);
    const UpcycledModel fitted = upcycle(dense, variant, UpcycleMethod::fitted);
    const auto& q = std::get<ops::DenseWeight>(dense.blocks[0].attention.qkv[0]).weight;
    const auto& tied = std::get<ops::ComplexWeight>(plain.model.blocks[0].attention.qkv[0]);
    test::expect_close(tied.a, ops::contract(q).a, 1e-6);
    test::expect_close(tied.b, ops::contract(q).b, 1e-6);
    double plain_qk = 0, fitted_qk = 0;
    for (std::size_t i = 0; i < plain.kept.size(); ++i) {
      plain_qk += plain.kept[i].q + plain.kept[i].k;
      fitted_qk += fitted.kept[i].q + fitted.kept[i].k;
      EXPECT_GT(fitted.kept[i].vo, plain.kept[i].vo);
    }
    EXPECT_GT(fitted_qk, plain_qk);
  }
}

// The fitted method may pair the residual stream anew, so the gains before the projections become free; the gains of
// QK-norm keep their pairs. A model that is tied already loses nothing.
TEST(UpcycleGains, FittedTakesSharedGainsApart) {
  const model::Transformer tied = golden("more/crope_all_qk_gain_pair");
  ASSERT_EQ(tied.config.norm_gain, model::Gain::pair);
  const model::Transformer dense = densified(tied);
  const UpcycledModel made = upcycle(dense, Variant::crope_all, UpcycleMethod::fitted);
  EXPECT_EQ(made.model.config.norm_gain, model::Gain::free);
  EXPECT_EQ(made.model.config.qk_gain, model::Gain::pair);
  EXPECT_EQ(made.model.norm.size(0), tied.config.d_model);
  test::expect_close(logits_of(made.model), logits_of(tied), 1e-4);
  for (const KeptEnergy& layer : made.kept) EXPECT_NEAR(layer.vo, 1, 1e-6);

  const UpcycledModel plain = upcycle(dense, Variant::crope_all, UpcycleMethod::plain);
  EXPECT_EQ(plain.model.config.norm_gain, model::Gain::pair)
      << "the plain method keeps the pairs of the residual stream";
  test::expect_close(logits_of(plain.model), logits_of(tied), 1e-4);
}

// Upcycling changes only the attention projections that it ties. All other parameters are
// the dense model's, with whole gains and in another order of the residual stream.
TEST(UpcycleGains, OnlyTheTieChangesADenseModelWithSharedGains) {
  model::ModelConfig config{.vocab_size = 97, .num_layers = 2, .num_heads = 4, .d_model = 32, .d_ff = 24};
  config.norm_gain = model::Gain::pair;
  model::Transformer dense = model::make_random_transformer(config);
  for (model::Parameter& parameter : dense.parameters) {
    if (parameter.spec.role == model::Role::gain) parameter.value.uniform_(0.5, 1.5);
  }
  const UpcycledModel made = upcycle(dense, Variant::crope_all, UpcycleMethod::fitted);
  EXPECT_EQ(made.model.config.norm_gain, model::Gain::free);
  EXPECT_GT(test::relative_error(logits_of(made.model), logits_of(dense)), 1e-3) << "random weights are not tied";

  const model::Transformer expanded = densified(made.model);
  const auto sorted = [](const Tensor& x) { return std::get<0>(x.flatten().sort()); };
  ASSERT_EQ(expanded.parameters.size(), dense.parameters.size());
  for (std::size_t i = 0; i < dense.parameters.size(); ++i) {
    const model::Parameter& before = dense.parameters[i];
    if (before.spec.component == model::Component::attention) continue;
    const bool shared = before.spec.role == model::Role::gain && before.value.size(0) == config.d_model / 2;
    const Tensor whole = shared ? at::cat({before.value, before.value}) : before.value;
    EXPECT_TRUE(at::equal(sorted(expanded.parameters[i].value), sorted(whole))) << before.spec.name;
  }
  test::expect_close(logits_of(expanded), logits_of(made.model), 1e-5);
}

class UpcycleAnnealed : public testing::TestWithParam<std::string> {};

// The function is the dense model's, whatever its heads and gains, and so is its loss.
TEST_P(UpcycleAnnealed, IsTheDenseModel) {
  const model::Transformer dense = golden(GetParam());
  const Tensor tokens = at::arange(42, torch::kInt64).mul(11).remainder(97).view({2, 21});
  for (const Variant variant : {Variant::crope_qk, Variant::crope_qkv, Variant::crope_all}) {
    const UpcycledModel made = upcycle(dense, variant, UpcycleMethod::annealed);
    const UpcycledModel turned = upcycle(dense, variant, UpcycleMethod::annealed, StreamStructure::J);
    test::expect_close(logits_of(turned.model), logits_of(dense), 1e-5);
    EXPECT_FALSE(turned.model.config.tie_embeddings);
    EXPECT_EQ(made.model.config.conjugate_scale, 1);
    test::expect_close(logits_of(made.model), logits_of(dense), 1e-5);
    EXPECT_NEAR(model::loss(made.model, tokens).item<double>(), model::loss(dense, tokens).item<double>(), 1e-5);
    // Without the conjugate-linear parts it is what the table says: another function.
    EXPECT_GT(test::relative_error(logits_of(model::without_conjugates(made.model)), logits_of(dense)), 1e-3);
    for (const KeptEnergy& layer : made.kept) {
      EXPECT_GT(layer.q, 0.3);
      EXPECT_LT(layer.q, 0.9);
      EXPECT_EQ(*layer.o == 1, variant != Variant::crope_all);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, UpcycleAnnealed,
                         testing::Values("rope", "more/rope_grouped", "more/rope_qk_gain_none"),
                         [](const auto& info) { return test::golden_test_name(info.param); });

TEST(UpcycleAnnealedExports, AreExpanded) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  model::ModelConfig config{.vocab_size = 97, .num_layers = 2, .num_heads = 4, .d_model = 32, .d_ff = 64};
  config.num_kv_heads = 2;
  config.qk_gain = model::Gain::pair;
  const model::Transformer dense = model::make_random_transformer(config);
  model::Transformer annealed = upcycle(dense, Variant::crope_all, UpcycleMethod::annealed).model;
  model::set_conjugate_scale(annealed, 0.5);
  model::save_model(annealed, folder / "m");
  const Tensor expected = logits_of(annealed);

  export_hf(folder / "m", folder / "hf", torch::kFloat32, log);
  const model::Transformer from_hf = load_hf_model(folder / "hf", log);
  export_hf_native(folder / "m", folder / "native", torch::kFloat32, log);
  const model::Transformer from_native = model::load_model(folder / "native", log);
  export_gguf(folder / "m", folder / "m.gguf", formats::GgmlType::f32, log);
  const model::Transformer from_gguf = load_gguf_model(folder / "m.gguf");
  for (const model::Transformer* back : {&from_hf, &from_native, &from_gguf}) {
    EXPECT_EQ(back->config.variant, Variant::rope);
    EXPECT_FALSE(back->config.conjugate_scale);
    test::expect_close(logits_of(*back), expected, 1e-5);
  }
}

TEST(UpcycleRefusals, SayWhy) {
  const auto refusal = [](const std::string& from, Variant to) -> std::string {
    try {
      upcycle(golden(from), to, UpcycleMethod::fitted);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(refusal("rope", Variant::half_rope_qk).find("half as wide"), std::string::npos);
  EXPECT_NE(refusal("rope", Variant::half_rope_all).find("half as wide"), std::string::npos);
  EXPECT_NE(refusal("rope", Variant::rope).find("already"), std::string::npos);
  EXPECT_NE(refusal("crope_qk", Variant::crope_all).find("expected rope"), std::string::npos);
}

TEST(UpcycleDirectory, KeepsTokenizerAndUnknownKeys) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  model::Transformer dense = golden("rope");
  dense.config.other_keys = {{"eos_token_id", 3}};
  model::save_model(dense, folder / "m");
  write_file(folder / "m/tokenizer.json", "{}");
  upcycle_directory(folder / "m", folder / "out", Variant::crope_all, UpcycleMethod::fitted, log);
  EXPECT_EQ(read_file(folder / "out/tokenizer.json"), "{}");
  EXPECT_EQ(model::load_config(folder / "out").other_keys["eos_token_id"], 3);
  EXPECT_THROW(upcycle_directory(folder / "m", folder / "out", Variant::crope_all, UpcycleMethod::plain, log), Error);
  EXPECT_THROW(upcycle_directory(folder / "out", folder / "x", Variant::crope_all, UpcycleMethod::plain, log), Error);
  EXPECT_FALSE(fs::exists(folder / "x"));
}

}  // namespace
}  // namespace crope::interop
