#include "crope/model/block_trace.h"

#include <ATen/ATen.h>

#include "crope/model/norm_gain.h"
#include "crope/ops/rms_norm.h"

namespace crope::model {

using torch::Tensor;

Tensor embed(const Transformer& model, const Tensor& ids) {
  const at::NoGradGuard no_grad;
  check_length(model.config, ids.size(1));
  return at::embedding(model.embedding, ids);
}

BlockTrace trace_block(const Transformer& model, std::int64_t layer, const Tensor& h) {
  const at::NoGradGuard no_grad;
  const Block& block = model.blocks.at(static_cast<std::size_t>(layer));
  const std::int64_t D = model.config.d_model;
  const double eps = model.config.norm_eps;
  const ops::RopeTable positions = rope_table(model.config, h.size(1), h.options());
  BlockTrace trace;
  trace.attention_input = ops::rms_norm(h, expand_gain(block.attention_norm, D), eps);
  trace.o_input = attend(block.attention, trace.attention_input, positions);
  const ops::SumAndNorm between = ops::add_rms_norm(h, ops::project(trace.o_input, block.attention.o),
                                                    expand_gain(block.feed_forward_norm, D), eps);
  trace.feed_forward_input = between.norm;
  trace.down_input = gated(block.feed_forward, trace.feed_forward_input);
  trace.output = between.sum + ops::project(trace.down_input, block.feed_forward.down);
  return trace;
}

}  // namespace crope::model
