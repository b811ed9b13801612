#include "crope/train/memory_need.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "crope/train/optimizer.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

TEST(MemoryNeed, IsThatOfWeightsGradientsAndState) {
  for (const model::Variant variant : {model::Variant::rope, model::Variant::crope_all, model::Variant::half_rope_qk}) {
    const model::ModelConfig config{
        .vocab_size = 50, .num_layers = 2, .num_heads = 2, .d_model = 16, .d_ff = 24, .variant = variant};
    const model::Transformer model = model::make_random_transformer(config);
    double bytes = static_cast<double>(Optimizer(model).state_bytes());
    for (const model::Parameter& parameter : model.parameters)
      bytes += 2.0 * static_cast<double>(parameter.value.nbytes());
    EXPECT_EQ(training_bytes(config), bytes);
  }
}

TEST(MemoryNeed, FarTooMuchIsRefused) {
  TinyRun tiny;
  TrainJob job = resolve_job(tiny.request("run"));
  EXPECT_NO_THROW(require_training_memory(job));
  job.model.d_model = job.model.d_ff = 1 << 20;
  EXPECT_THROW(require_training_memory(job), Error);
  EXPECT_THROW(train(job, tiny.log), Error);
}

}  // namespace
}  // namespace crope::train
