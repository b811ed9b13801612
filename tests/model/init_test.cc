#include "crope/model/init.h"

#include <ATen/Parallel.h>
#include <signal.h>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

ModelConfig small(Variant variant) {
  ModelConfig config;
  config.vocab_size = 500;
  config.num_layers = 1;
  config.num_heads = 4;
  config.d_model = 256;
  config.d_ff = 128;
  config.variant = variant;
  return config;
}

TEST(Init, SameSeedSameWeightsWithAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  const Transformer two = make_random_transformer(small(Variant::rope), {.seed = 5});
  at::set_num_threads(1);
  const Transformer one = make_random_transformer(small(Variant::rope), {.seed = 5});
  at::set_num_threads(threads);
  const Transformer other = make_random_transformer(small(Variant::rope), {.seed = 6});
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(one.parameters[i].value, two.parameters[i].value));
  }
  EXPECT_FALSE(at::equal(one.embedding, other.embedding));
}

// A tied layer starts with the output variance of a dense one.
TEST(Init, TiedAndDenseLayersStartAlike) {
  const Tensor x = at::randn({2000, 256});
  for (const Variant variant : {Variant::rope, Variant::crope_all}) {
    const Transformer model = make_random_transformer(small(variant));
    for (const ops::Weight& projection : model.blocks[0].attention.qkv) {
      EXPECT_NEAR(ops::project(x, projection).var().item<double>(), 1, 0.03);
    }
  }
  EXPECT_NEAR(make_random_transformer(small(Variant::rope)).embedding.std().item<double>(), 0.02, 2e-4);
}

TEST(Init, TakesTypeAndRefusesImpossibleShapes) {
  EXPECT_EQ(make_random_transformer(small(Variant::rope), {}, torch::kBFloat16).norm.scalar_type(), torch::kBFloat16);
  ModelConfig config = small(Variant::rope);
  config.num_heads = 3;
  EXPECT_THROW(make_random_transformer(config), UsageError);
}

TEST(Init, ASignalEndsIt) {
  const InterruptScope scope;
  EXPECT_NO_THROW(make_random_transformer(small(Variant::rope)));
  ::raise(SIGTERM);
  EXPECT_THROW(make_random_transformer(small(Variant::rope)), Interrupted);
}

}  // namespace
}  // namespace crope::model
