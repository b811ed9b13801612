// Whose matrix products are used in fp32 on the CPU: our own, which form sums of operands and add to several targets on
// the way, or those of LibTorch's BLAS (MKL), which chooses its instructions by the maker of the processor.
//
// The choice depends on the processor alone, by earlier measurements (docs/benchmarks.md), so that two runs on one
// machine have the same bits. CROPE_PRODUCTS=own or blas overrides it. `crope bench` measures both.
#pragma once

#include "crope/base/choice.h"

namespace crope::ops {

enum class ProductSource { own, blas };

// Uses of products: many equal rows in both directions of a step and in Muon, or the rows of prompts.
enum class ProductUse { training, prompts };

// Throws UsageError if CROPE_PRODUCTS is neither own nor blas, or asks for own products of an instruction set without.
ProductSource product_source(ProductUse use);

// Uses one source for training from now on: the one that a run began with, and that of its first rank.
// REQUIRES: no operation is running.
void use_training_products(ProductSource source);

}  // namespace crope::ops

template <>
struct crope::ChoiceNames<crope::ops::ProductSource> {
  static constexpr auto kNames = choice_names<crope::ops::ProductSource>(
      {{crope::ops::ProductSource::own, "own"}, {crope::ops::ProductSource::blas, "blas"}});
};
