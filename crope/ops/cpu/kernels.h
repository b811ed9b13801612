// The kernels of the CPU in fp32 (ops/kernels.h has their contracts), compiled for each instruction set by Highway.
#pragma once

#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

void multiply(const ProductList& call);
std::int64_t least_gauss_pairs();
void rms_norm(const RmsNorm& call);
void rms_norm_backward(const RmsNormBackward& call);
void swiglu(const Swiglu& call);
void swiglu_backward(const SwigluBackward& call);
void cross_entropy_rows(const CrossEntropyRows& call);
void add_rows(const AddRows& call);
void rotary_attention(const RotaryAttention& call);
void rotary_attention_backward(const RotaryAttentionBackward& call);
void newton_schulz(const NewtonSchulz& call);
void momentum_update(const MomentumUpdate& call);
void decay_and_subtract(const DecayAndSubtract& call);
void adamw_update(const AdamwUpdate& call);
double sum_of_squares(const ConstMatrix& x);
std::int64_t quantised_bytes(WeightType type, std::int64_t M, std::int64_t N);
void quantise_matrix(const QuantiseMatrix& call);
void pack_blocks(const PackBlocks& call);
void unpack_blocks(const UnpackBlocks& call);
void widen_rows(const WidenRows& call);
void look_up_rows(const LookUpRows& call);
void linear_rows(const LinearRows& call);
void gated_linear_rows(const GatedLinearRows& call);
bool prefers_integer_products();
void rotary_rows(const RotaryRows& call);
void cached_attention(const CachedAttention& call);
void row_maxima(const RowMaxima& call);

// Those that pay on the instruction set in use: the portable one leaves products to a BLAS.
// Throws UsageError if CROPE_ISA names no set of this machine.
const Kernels& kernels();

// The table without the products that a BLAS can do.
const Kernels& kernels_without_products();

}  // namespace crope::ops::cpu
