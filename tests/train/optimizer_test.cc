#include "crope/train/optimizer.h"

#include "crope/base/log.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/model/tensor_file.h"
#include "crope/train/train_config.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::train {
namespace {

using formats::SafetensorsFile;
using model::Parameter;
using torch::Tensor;

class GoldenSteps : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path dir() const { return test::golden_folder(GetParam()); }

  // As golden.json sets them; the defaults without one.
  OptimizerOptions options() const {
    model::ModelConfig model;
    TrainConfig config;
    const std::filesystem::path file = dir() / "golden.json";
    if (std::filesystem::exists(file)) apply_settings(read_json(file), model, config, file.string());
    return optimizer_options(config);
  }

  // Loss before the update.
  static double train_step(model::Transformer& model, Optimizer& optimizer, const Tensor& tokens) {
    for (Parameter& parameter : model.parameters) parameter.value.mutable_grad() = Tensor();
    const Tensor loss = model::loss(model, tokens);
    loss.backward();
    optimizer.step(2e-3);
    return loss.item<double>();
  }

  Log log_{nullptr};
};

// Parameters after three steps of an independent implementation.
TEST_P(GoldenSteps, ThreeStepsOfMuonAndAdamw) {
  model::Transformer model = model::load_model(dir(), log_);
  model::set_requires_grad(model, true);
  const SafetensorsFile golden = SafetensorsFile::open(dir() / "golden.safetensors");
  const Tensor tokens = model::view_tensor(golden, "tokens");
  const Tensor expected_losses = model::view_tensor(golden, "step_losses");
  Optimizer optimizer(model, options());
  for (int step = 0; step < 3; ++step) {
    EXPECT_NEAR(train_step(model, optimizer, tokens), expected_losses[step].item<double>(), 1e-4);
  }
  for (const Parameter& parameter : model.parameters) {
    const Tensor expected = model::view_tensor(golden, "after3." + parameter.spec.name);
    const Tensor got = model::halves_to_pairs(parameter.value.detach(), parameter.spec.paired_dimensions);
    test::expect_close(got, expected, 1e-4, parameter.spec.name);
  }
}

// The state is all there is: a second optimiser that takes it over goes on bit for bit.
TEST_P(GoldenSteps, StateCanBeSavedAndRestored) {
  const SafetensorsFile golden = SafetensorsFile::open(dir() / "golden.safetensors");
  const Tensor tokens = model::view_tensor(golden, "tokens");
  model::Transformer one = model::load_model(dir(), log_), two = model::load_model(dir(), log_);
  model::set_requires_grad(one, true);
  model::set_requires_grad(two, true);
  Optimizer first(one, options()), second(two, options());
  train_step(one, first, tokens);
  {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < one.parameters.size(); ++i) two.parameters[i].value.copy_(one.parameters[i].value);
    const auto from = first.state(), to = second.state();
    for (std::size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(from[i].name, to[i].name);
      Tensor(to[i].value).copy_(from[i].value);
    }
    second.set_steps(first.steps());
  }
  train_step(one, first, tokens);
  train_step(two, second, tokens);
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(one.parameters[i].value, two.parameters[i].value)) << one.parameters[i].spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(AllModels, GoldenSteps, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return test::golden_test_name(info.param); });

// What one step makes of q.a and q.b of the first block, from fixed gradients; b's may be left out.
std::pair<Tensor, Tensor> step_of_pair(TiedPairs tied_pairs, bool with_gradient_of_b) {
  Log log(nullptr);
  model::Transformer model = model::load_model(test::golden_folder("crope_all"), log);
  at::manual_seed(7);
  Tensor a, b;
  for (Parameter& parameter : model.parameters) {
    parameter.value = parameter.value.clone();
    parameter.value.mutable_grad() = at::randn_like(parameter.value);
    if (parameter.spec.name == "blocks.0.attention.q.a") a = parameter.value;
    if (parameter.spec.name == "blocks.0.attention.q.b") b = parameter.value;
  }
  if (!with_gradient_of_b) b.mutable_grad().zero_();
  Optimizer optimizer(model, {.tied_pairs = tied_pairs});
  optimizer.step(0.1);
  return {a, b};
}

TEST(Optimizer, SeparatePairsAreTwoMatrices) {
  const auto [a, b] = step_of_pair(TiedPairs::separate, true);
  const auto [a_alone, b_at_rest] = step_of_pair(TiedPairs::separate, false);
  EXPECT_TRUE(at::equal(a, a_alone)) << "the update of a knows nothing of b";
  EXPECT_FALSE(at::equal(b, b_at_rest));
}

TEST(Optimizer, ComplexPairsAreOneMatrix) {
  const auto [a, b] = step_of_pair(TiedPairs::complex, true);
  const auto [a_alone, b_at_rest] = step_of_pair(TiedPairs::complex, false);
  EXPECT_GT(test::relative_error(a, a_alone), 1e-3) << "the update of a depends on b";
  EXPECT_GT(test::relative_error(a, step_of_pair(TiedPairs::separate, true).first), 1e-3);
}

}  // namespace
}  // namespace crope::train
