#include "crope/train/starting_model.h"

#include "crope/model/model_dir.h"
#include "tests/tensor_checks.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

TEST(StartingModel, TheSeedAloneDecides) {
  TinyRun tiny;
  const auto start = [&](std::int64_t seed) {
    return make_starting_model(resolve_job(tiny.request("run", {{"seed", seed}})), tiny.log);
  };
  const model::Transformer one = start(1), again = start(1), other = start(2);
  EXPECT_EQ(one.config.d_model, 16);
  EXPECT_TRUE(at::equal(one.embedding, again.embedding));
  EXPECT_FALSE(at::equal(one.embedding, other.embedding));
}

TEST(StartingModel, OtherWeightsAreCopiedOutOfTheirFile) {
  TinyRun tiny;
  model::save_model(make_starting_model(resolve_job(tiny.request("run")), tiny.log), tiny.path("model"));
  JobRequest request = tiny.request("next", {{"seed", 5}});
  request.init_from = tiny.path("model");
  model::Transformer copy = make_starting_model(resolve_job(request), tiny.log);
  const model::Transformer saved = model::load_model(tiny.path("model"), tiny.log);
  ASSERT_EQ(copy.parameters.size(), saved.parameters.size());
  for (std::size_t i = 0; i < saved.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(copy.parameters[i].value, saved.parameters[i].value)) << saved.parameters[i].spec.name;
  }
  copy.embedding.zero_();
  EXPECT_GT(model::load_model(tiny.path("model"), tiny.log).embedding.abs().max().item<double>(), 0);
}

TEST(OwnedCopy, SharesNoMemory) {
  TinyRun tiny;
  const model::Transformer model = make_starting_model(resolve_job(tiny.request("run")), tiny.log);
  const model::Transformer copy = owned_copy(model);
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    EXPECT_FALSE(copy.parameters[i].value.is_alias_of(model.parameters[i].value)) << model.parameters[i].spec.name;
  }
}

}  // namespace
}  // namespace crope::train
