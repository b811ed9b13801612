#include "crope/serve/context_limit.h"

#include <gtest/gtest.h>

#include "crope/model/cost.h"

namespace crope::serve {
namespace {

// An imported model: 2 x 32 layers x 4096 numbers of 4 bytes, 1 MB for each token.
const model::ModelConfig kLarge{.vocab_size = 32000,
                                .num_layers = 32,
                                .num_heads = 32,
                                .d_model = 4096,
                                .d_ff = 11008,
                                .max_seq_len = 131072,
                                .variant = model::Variant::rope};

TEST(ContextLimit, WhatFitsIsTaken) {
  EXPECT_EQ(model::cost_per_token(kLarge, 1).cache_bytes, 1 << 20);
  const double gigabyte = 1 << 30;
  EXPECT_EQ(context_that_fits(kLarge, {.sequences = 24, .free_bytes = 128 * gigabyte}), 2048);
  EXPECT_EQ(context_that_fits(kLarge, {.sequences = 1, .free_bytes = 128 * gigabyte}), 49152);
  EXPECT_EQ(context_that_fits(kLarge, {.sequences = 1, .kept_tokens = 49152, .free_bytes = 128 * gigabyte}), 24576);
  EXPECT_EQ(context_that_fits(kLarge, {.sequences = 1, .free_bytes = 1e6 * gigabyte}), kLarge.max_seq_len);
}

TEST(ContextLimit, HasASmallestContext) {
  EXPECT_EQ(context_that_fits(kLarge, {.sequences = 4096, .free_bytes = 1e9}), kSmallestContext);
  EXPECT_EQ(context_that_fits(kLarge, {.sequences = 24, .kept_tokens = 1 << 20, .free_bytes = 0}), kSmallestContext);
  model::ModelConfig small = kLarge;
  small.max_seq_len = 64;
  EXPECT_EQ(context_that_fits(small, {.sequences = 24, .free_bytes = 0}), 64);
}

}  // namespace
}  // namespace crope::serve
