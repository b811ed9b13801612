#include "crope/analysis/structure_on_text.h"

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/ops/block_linear.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

Log& silent() {
  static Log log(nullptr);
  return log;
}

std::vector<std::int32_t> some_ids(std::int64_t count, std::int64_t vocab_size) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((i * i + 3 * i) % vocab_size));
  return ids;
}

StructureOnText measure(const model::Transformer& model, std::int64_t count, const TextOptions& options = {}) {
  return structure_on_text(model, shared_structures(model, {.null_rounds = 0}),
                           some_ids(count, model.config.vocab_size), options, silent());
}

model::Transformer small_model(model::Variant variant) {
  return model::make_random_transformer({.vocab_size = 32,
                                         .num_layers = 2,
                                         .num_heads = 2,
                                         .d_model = 16,
                                         .d_ff = 8,
                                         .max_seq_len = 12,
                                         .variant = variant,
                                         .num_kv_heads = 1});
}

TEST(StructureOnText, TheLossIsThatOfTheModel) {
  for (const char* name : {"rope", "half_rope_all", "more/rope_grouped", "more/crope_all_norm_gain_pair"}) {
    const model::Transformer model = model::load_model(test::golden_folder(name), silent());
    const StructureOnText text = measure(model, 9);
    EXPECT_EQ(text.tokens, 8);
    const auto ids = some_ids(9, model.config.vocab_size);
    const Tensor losses = model::token_losses(model, at::tensor(ids, at::kInt).to(at::kLong));
    EXPECT_NEAR(text.loss, losses.to(at::kDouble).mean().item<double>(), 1e-5) << name << ": gains are folded in";
  }
}

// Windows overlap by the token that one predicts and the next begins with.
TEST(StructureOnText, EveryTokenIsPredictedOnce) {
  const model::Transformer model = small_model(model::Variant::rope);
  EXPECT_EQ(measure(model, 30).tokens, 29);
  EXPECT_EQ(measure(model, 30, {.tokens = 20}).tokens, 20);
  EXPECT_EQ(measure(model, 13, {.window = 12}).tokens, 12);
  EXPECT_EQ(measure(model, 2).tokens, 1);
}

// A tied model shares the given structure in both layers: nothing of its queries and keys is conjugate-linear.
TEST(StructureOnText, NothingIsRemovedFromTiedQueries) {
  const StructureOnText text = measure(small_model(model::Variant::crope_qk), 30);
  for (const Removal& removal : text.removals) {
    EXPECT_GT(removal.removed_at_random, 0.2) << removal.projection << removal.quarter;
    EXPECT_GT(std::abs(removal.loss_at_random.mean), 1e-6) << removal.projection << removal.quarter;
    if (removal.projection == 'k') continue;  // one layer's keys do not determine a structure of the whole stream
    EXPECT_LT(removal.removed, 1e-9) << removal.quarter;
    EXPECT_NEAR(removal.loss.mean, 0, 1e-5) << removal.quarter;
  }
  EXPECT_LT(text.projections[0].all, 1e-9);
  EXPECT_GT(text.projections[2].all, 0.2);
}

// The removal of all quarters, done by hand on a model without gains to fold.
TEST(StructureOnText, RemovalIsTheLinearPartInItsPlace) {
  const model::Transformer model = small_model(model::Variant::rope);
  const auto structures = shared_structures(model, {.null_rounds = 0});
  const StructureOnText text = measure(model, 13);
  const Tensor ids = at::tensor(some_ids(13, 32), at::kInt).to(at::kLong);
  model::Transformer changed = model;
  double removed = 0, total = 0;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    auto& weight = std::get<ops::DenseWeight>(changed.blocks[layer].attention.qkv[0]).weight;
    const Tensor whole = weight.to(at::kDouble), J = structures[0].of_parity[1 - layer];
    // (W - J_out W J) / 2 with J_out the turn of each pair of rows.
    const Tensor u = whole.narrow(0, 0, 8), v = whole.narrow(0, 8, 8);
    const Tensor linear = (whole + at::cat({-v, u}).mm(J.t())) / 2;
    removed += (whole - linear).square().sum().item<double>();
    total += whole.square().sum().item<double>();
    weight = linear.to(at::kFloat);
  }
  const Removal& all = text.removals[kQuarters];
  ASSERT_EQ(all.projection, 'q');
  ASSERT_EQ(all.quarter, static_cast<int>(kQuarters));
  EXPECT_NEAR(all.removed, removed / total, 1e-9);
  const double difference =
      (model::token_losses(changed, ids) - model::token_losses(model, ids)).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(all.loss.mean, difference, 1e-5);
  EXPECT_GT(std::abs(difference), 1e-4);
}

// With one window and one layer's structure: energies of the two parts of x W', by hand.
TEST(StructureOnText, SharesOfEnergyOnText) {
  const model::Transformer model = small_model(model::Variant::rope);
  const auto structures = shared_structures(model, {.null_rounds = 0});
  const StructureOnText text = measure(model, 13);
  const Tensor ids = at::tensor(some_ids(12, 32), at::kInt).to(at::kLong);
  const Tensor x = model::layer_input(model, ids.unsqueeze(0), 1).x.squeeze(0).to(at::kDouble);
  const Tensor W = std::get<ops::DenseWeight>(model.blocks[1].attention.qkv[0]).weight.to(at::kDouble);
  const Tensor swapped = at::cat({-W.narrow(0, 8, 8), W.narrow(0, 0, 8)}).mm(structures[0].of_parity[0].t());
  const double linear = x.mm((W + swapped).t()).square().sum().item<double>();
  const double conjugate = x.mm((W - swapped).t()).square().sum().item<double>();
  EXPECT_NEAR(text.projections[0].layers[1].all, conjugate / (linear + conjugate), 1e-5);
}

TEST(StructureOnText, OneLayerAndOneTokenAreRefused) {
  const model::Transformer one =
      model::make_random_transformer({.vocab_size = 32, .num_layers = 1, .num_heads = 2, .d_model = 16, .d_ff = 8});
  EXPECT_THROW(measure(one, 10), UsageError);
  EXPECT_THROW(measure(small_model(model::Variant::rope), 1), UsageError);
}

}  // namespace
}  // namespace crope::analysis
