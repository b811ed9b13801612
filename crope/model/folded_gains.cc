#include "crope/model/folded_gains.h"

#include <ATen/ATen.h>

#include "crope/model/norm_gain.h"
#include "crope/ops/check.h"

namespace crope::model {
namespace {

using torch::Tensor;

constexpr std::size_t place_of(char projection) {
  return projection == 'q' ? 0 : projection == 'k' ? 1 : 2;
}

}  // namespace

Tensor fold_gains(const Tensor& dense, const SurroundingGains& gains) {
  ops::check_shape(dense.dim() == 2 && dense.size(0) % 2 == 0, "fold_gains", "dense", "[2M, 2N]", dense);
  Tensor folded = dense.detach().to(at::kDouble);
  if (gains.head.defined()) {
    const Tensor& head = gains.head;
    const bool fits = head.dim() == 1 && head.size(0) > 0 && head.size(0) % 2 == 0 && dense.size(0) % head.size(0) == 0;
    ops::check_shape(fits, "fold_gains", "gains.head", "[K], K even and a divisor of 2M", head);
    // Rows are the real parts of all heads, then the imaginary parts of all heads.
    const Tensor rows = head.detach().view({2, 1, -1}).expand({2, dense.size(0) / head.size(0), -1});
    folded = folded * rows.reshape({-1, 1});
  }
  if (gains.input.defined()) {
    const Tensor& input = gains.input;
    ops::check_shape(input.dim() == 1 && input.size(0) == dense.size(1), "fold_gains", "gains.input", "[2N]", input);
    folded = folded * input.detach();
  }
  return folded;
}

SurroundingGains surrounding_gains(const Transformer& model, std::int64_t layer, char projection) {
  const Block& block = model.blocks.at(static_cast<std::size_t>(layer));
  const Tensor input = expand_gain(block.attention_norm, model.config.d_model);
  if (projection == 'v') return {input, {}};
  const Tensor& head = projection == 'q' ? block.attention.q_norm : block.attention.k_norm;
  return {input, expand_gain(head, model.config.qk_width())};
}

Tensor folded_projection(const Transformer& model, std::int64_t layer, char projection) {
  const Attention& attention = model.blocks.at(static_cast<std::size_t>(layer)).attention;
  return fold_gains(ops::dense_matrix(attention.qkv[place_of(projection)]),
                    surrounding_gains(model, layer, projection));
}

}  // namespace crope::model
