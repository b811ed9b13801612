#include "crope/model/block_trace.h"

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/rms_norm.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

TEST(BlockTrace, LeadsToTheFeaturesAndHoldsWhatProjectionsRead) {
  for (const VariantTraits& row : kVariants) {
    ModelConfig config{.vocab_size = 11, .num_layers = 3, .num_heads = 4, .d_model = 16, .d_ff = 12, .max_seq_len = 8};
    config.variant = row.variant;
    config.num_kv_heads = 2;
    config.norm_gain = row.ties_qk ? Gain::pair : Gain::free;
    const Transformer model = make_random_transformer(config, {.embedding_std = 1}, torch::kFloat64);
    const Tensor ids = at::randint(11, {2, 8}, torch::kInt64);
    Tensor h = embed(model, ids);
    for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
      const BlockTrace trace = trace_block(model, layer, h);
      const Block& block = model.blocks[static_cast<std::size_t>(layer)];
      test::expect_close(trace.attention_input, layer_input(model, ids, layer).x, 1e-12, std::string(row.name));
      const Tensor middle = h + ops::project(trace.o_input, block.attention.o);
      test::expect_close(trace.output - middle, ops::project(trace.down_input, block.feed_forward.down), 1e-12);
      test::expect_close(trace.feed_forward_input,
                         ops::rms_norm(middle, expand_gain(block.feed_forward_norm, 16), config.norm_eps), 1e-12);
      h = trace.output;
    }
    test::expect_close(ops::rms_norm(h, expand_gain(model.norm, 16), config.norm_eps), features(model, ids), 1e-12,
                       std::string(row.name));
  }
}

TEST(BlockTrace, RefusesSequencesOutsideTheWindow) {
  const Transformer model = make_random_transformer(
      {.vocab_size = 5, .num_layers = 1, .num_heads = 1, .d_model = 4, .d_ff = 4, .max_seq_len = 3});
  EXPECT_THROW(embed(model, at::zeros({1, 4}, torch::kInt64)), Error);
  EXPECT_THROW(embed(model, at::zeros({1, 0}, torch::kInt64)), Error);
}

}  // namespace
}  // namespace crope::model
