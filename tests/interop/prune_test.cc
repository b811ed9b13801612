#include "crope/interop/prune.h"

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/model/block_trace.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/ops/weight.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

using model::Variant;
using torch::Tensor;

model::Transformer random_model(Variant variant) {
  model::ModelConfig config{.vocab_size = 40, .num_layers = 2, .num_heads = 4, .d_model = 32, .d_ff = 24};
  config.max_seq_len = 30;
  config.num_kv_heads = 2;
  config.variant = variant;
  return model::make_random_transformer(config, {.embedding_std = 1});
}

const Tensor& value_of(const model::Transformer& model, const std::string& name) {
  for (const model::Parameter& parameter : model.parameters) {
    if (parameter.spec.name == name) return parameter.value;
  }
  throw Error("no parameter " + name);
}

double zero_share(const Tensor& x) {
  return (x == 0).to(torch::kFloat64).mean().item<double>();
}

std::vector<Tensor> random_rows() {
  return {at::randint(40, {1, 30}, torch::kInt64), at::randint(40, {1, 17}, torch::kInt64)};
}

TEST(Prune, DropsTheSmallestOfEachMatrixAndNothingElse) {
  for (const Variant variant : {Variant::rope, Variant::crope_qkv}) {
    const model::Transformer before = random_model(variant);
    const PrunedModel pruned = prune(before, {.sparsity = 0.25});
    for (std::size_t i = 0; i < before.parameters.size(); ++i) {
      const Tensor &old = before.parameters[i].value, &now = pruned.model.parameters[i].value;
      const model::Role role = before.parameters[i].spec.role;
      const bool is_matrix = role != model::Role::gain && role != model::Role::embedding;
      EXPECT_NEAR(zero_share(now), is_matrix ? 0.25 : 0, 1e-9) << before.parameters[i].spec.name;
      EXPECT_TRUE(at::equal(at::where(now == 0, old, now), old)) << "what stays is unchanged";
      if (role != model::Role::matrix) continue;
      EXPECT_LE(old.masked_select(now == 0).abs().max().item<float>(),
                now.masked_select(now != 0).abs().min().item<float>());
    }
    for (const PrunedKind& kind : pruned.kinds) {
      EXPECT_EQ(kind.zeros * 4, kind.numbers) << kind.name;
      EXPECT_GT(kind.kept_energy, 0.9) << kind.name;
    }
    EXPECT_EQ(pruned.kinds.size(), 7u);
  }
}

TEST(Prune, APairIsOneComplexNumberOrTwo) {
  const model::Transformer before = random_model(Variant::crope_all);
  const std::string name = "blocks.1.attention.k.";
  const Tensor a = value_of(before, name + "a"), b = value_of(before, name + "b");
  const model::Transformer whole = prune(before, {.sparsity = 0.5}).model;
  const Tensor dropped = value_of(whole, name + "a") == 0;
  EXPECT_TRUE(at::equal(value_of(whole, name + "b") == 0, dropped));
  const Tensor size = at::hypot(a, b);
  EXPECT_LE(size.masked_select(dropped).max().item<float>(),
            size.masked_select(dropped.logical_not()).min().item<float>());

  const model::Transformer parts = prune(before, {.sparsity = 0.5, .pairs = PrunedPairs::separate}).model;
  const Tensor dropped_a = value_of(parts, name + "a") == 0, dropped_b = value_of(parts, name + "b") == 0;
  EXPECT_FALSE(at::equal(dropped_a, dropped_b));
  const Tensor both = at::cat({a, b}).abs(), gone = at::cat({dropped_a, dropped_b});
  EXPECT_NEAR(zero_share(at::cat({value_of(parts, name + "a"), value_of(parts, name + "b")})), 0.5, 1e-9);
  EXPECT_LE(both.masked_select(gone).max().item<float>(), both.masked_select(gone.logical_not()).min().item<float>());
}

// Neighbours are those of the file: pairs beside each other.
TEST(Prune, TwoOfFour) {
  const std::array<int, 1> columns = {1};
  for (const Variant variant : {Variant::rope, Variant::crope_all}) {
    for (const bool calibrated : {false, true}) {
      const std::vector<Tensor> rows = calibrated ? random_rows() : std::vector<Tensor>();
      const PruneOptions options{.sparsity = 0.5, .structure = PruneStructure::two_of_four};
      const model::Transformer pruned = prune(random_model(variant), options, rows).model;
      for (const model::Parameter& parameter : pruned.parameters) {
        if (parameter.spec.role == model::Role::gain || parameter.spec.role == model::Role::embedding) continue;
        const bool reorders = std::ranges::count(parameter.spec.paired_dimensions, 1) > 0;
        const Tensor disk = reorders ? model::halves_to_pairs(parameter.value, columns) : parameter.value;
        const Tensor zeros = (disk.contiguous().view({-1, 4}) == 0).sum(1);
        EXPECT_TRUE((zeros == 2).all().item<bool>()) << parameter.spec.name;
      }
    }
  }
}

// |w| ||x|| by hand in the first layer, whose inputs no pruning has changed.
TEST(Prune, WandaRanksByWhatAWeightMultiplies) {
  const model::Transformer before = random_model(Variant::crope_qk);
  const std::vector<Tensor> rows = random_rows();
  const model::Transformer after = prune(before, {.sparsity = 0.5}, rows).model;
  std::vector<Tensor> inputs, gated;
  for (const Tensor& row : rows) {
    const model::BlockTrace trace = model::trace_block(before, 0, model::embed(before, row));
    inputs.push_back(trace.attention_input[0]);
  }
  const Tensor norm = at::cat(inputs).square().sum(0).sqrt();
  const Tensor v = value_of(before, "blocks.0.attention.v.weight"), score = v.abs() * norm;
  const Tensor gone = value_of(after, "blocks.0.attention.v.weight") == 0;
  const Tensor a = value_of(before, "blocks.0.attention.q.a"), b = value_of(before, "blocks.0.attention.q.b");
  const Tensor pair_score = at::hypot(a, b) * at::hypot(norm.chunk(2)[0], norm.chunk(2)[1]);
  const Tensor pair_gone = value_of(after, "blocks.0.attention.q.a") == 0;
  for (const auto& [scores, dropped] : {std::pair(score, gone), {pair_score, pair_gone}}) {
    for (int64_t r = 0; r < scores.size(0); ++r) {
      EXPECT_EQ(dropped[r].sum().item<int64_t>() * 2, scores.size(1)) << "in each row";
      EXPECT_LE(scores[r].masked_select(dropped[r]).max().item<float>(),
                scores[r].masked_select(dropped[r].logical_not()).min().item<float>() * (1 + 1e-6));
    }
  }
  EXPECT_FALSE(at::equal(gone, value_of(prune(before, {.sparsity = 0.5}).model, "blocks.0.attention.v.weight") == 0));
}

TEST(Prune, ImpossibleOptionsAreNamed) {
  const model::Transformer model = random_model(Variant::rope);
  for (const double bad : {-0.1, 1.0, std::nan("")}) EXPECT_THROW(prune(model, {.sparsity = bad}), UsageError);
  EXPECT_THROW(prune(model, {.sparsity = 0.3, .structure = PruneStructure::two_of_four}), UsageError);
  model::ModelConfig odd{.vocab_size = 9, .num_layers = 1, .num_heads = 1, .d_model = 8, .d_ff = 6};
  EXPECT_THROW(prune(model::make_random_transformer(odd), {.structure = PruneStructure::two_of_four}), UsageError);
}

TEST(PruneDirectory, IsAnOrdinaryModelThatSaysHowItWasPruned) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  model::save_model(random_model(Variant::crope_all), folder / "m");
  prune_directory(folder / "m", folder / "out", {.sparsity = 0.5}, {}, log);
  const model::Transformer pruned = model::load_model(folder / "out", log);
  EXPECT_NEAR(zero_share(pruned.parameters[2].value), 0.5, 1e-9);
  EXPECT_EQ(pruned.config.other_keys["pruned"]["rule"], "magnitude");
  EXPECT_THROW(prune_directory(folder / "m", folder / "out", {}, {}, log), Error);
  EXPECT_THROW(prune_directory(folder / "m", folder / "new", {}, folder / "absent.txt", log), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
}

}  // namespace
}  // namespace crope::interop
