#include "crope/ops/attention.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/ops/check.h"

namespace crope::ops {
namespace {

using torch::Tensor;

Tensor widen(const Tensor& x, int64_t width) {
  return x.size(-1) == width ? x : at::constant_pad_nd(x, {0, width - x.size(-1)});
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check_shape(q.dim() == 4, "attention", "q", "[B, H, T, K]", q);
  check_shape(k.sizes() == q.sizes(), "attention", "k", "the shape of q", k);
  check_shape(v.dim() == 4 && v.sizes().slice(0, 3) == q.sizes().slice(0, 3), "attention", "v",
              "[B, H, T, Kv] with B, H, T of q", v);
  const int64_t width = std::max(q.size(-1), v.size(-1));
  const Tensor out =
      at::scaled_dot_product_attention(widen(q, width), widen(k, width), widen(v, width), /*attn_mask=*/{},
                                       /*dropout_p=*/0.0, options.mask == Mask::causal, options.scale);
  return v.size(-1) == width ? out : out.narrow(-1, 0, v.size(-1));
}

}  // namespace crope::ops
