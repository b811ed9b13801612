#include "crope/ops/cpu/kernels.h"

#include "crope/ops/cpu/isa.h"
#include "crope/ops/cpu/product_kernel.h"

namespace crope::ops::cpu {
namespace {

constexpr Kernels kWithoutProducts = {.rms_norm = rms_norm,
                                      .rms_norm_backward = rms_norm_backward,
                                      .swiglu = swiglu,
                                      .swiglu_backward = swiglu_backward,
                                      .cross_entropy_rows = cross_entropy_rows,
                                      .add_rows = add_rows,
                                      .momentum_update = momentum_update,
                                      .decay_and_subtract = decay_and_subtract,
                                      .adamw_update = adamw_update,
                                      .sum_of_squares = sum_of_squares,
                                      .quantised_bytes = quantised_bytes,
                                      .quantise_matrix = quantise_matrix,
                                      .pack_blocks = pack_blocks,
                                      .unpack_blocks = unpack_blocks,
                                      .widen_rows = widen_rows,
                                      .look_up_rows = look_up_rows,
                                      .linear_rows = linear_rows,
                                      .gated_linear_rows = gated_linear_rows,
                                      .prefers_integer_products = prefers_integer_products,
                                      .rotary_rows = rotary_rows,
                                      .cached_attention = cached_attention,
                                      .row_maxima = row_maxima};

constexpr Kernels kWithAttention = [] {
  Kernels kernels = kWithoutProducts;
  kernels.rotary_attention = rotary_attention;
  kernels.rotary_attention_backward = rotary_attention_backward;
  return kernels;
}();

constexpr Kernels kAll = [] {
  Kernels all = kWithAttention;
  all.multiply = multiply;
  all.least_gauss_pairs = least_gauss_pairs;
  all.newton_schulz = newton_schulz;
  return all;
}();

}  // namespace

const Kernels& kernels() {
  static const bool environment_is_read = (fused_kernels_enabled(), true);
  return environment_is_read && product_kernels_pay() ? kAll : kWithoutProducts;
}

const Kernels& kernels_without_products() {
  return product_kernels_pay() ? kWithAttention : kWithoutProducts;
}

}  // namespace crope::ops::cpu
