// The numbers of an independent implementation: logits, loss and every gradient of all six variants and of the settings
// that the paper leaves open.
#include <cstdlib>

#include "crope/base/log.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/model/tensor_file.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using formats::SafetensorsFile;
using torch::Tensor;

constexpr double kTolerance = 1e-5;

class Goldens : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path dir() const { return test::golden_folder(GetParam()); }
  Log log_{nullptr};
};

TEST_P(Goldens, LogitsLossAndGradients) {
  Transformer model = load_model(dir(), log_);
  set_requires_grad(model, true);
  const SafetensorsFile golden = SafetensorsFile::open(dir() / "golden.safetensors");
  const Tensor tokens = view_tensor(golden, "tokens");

  test::expect_close(logits(model, tokens.narrow(1, 0, tokens.size(1) - 1)), view_tensor(golden, "logits"), kTolerance);
  const Tensor value = loss(model, tokens);
  test::expect_close(value.reshape({1}), view_tensor(golden, "loss"), kTolerance);

  test::TensorList leaves;
  for (const Parameter& parameter : model.parameters) leaves.push_back(parameter.value);
  const test::TensorList gradients = torch::autograd::grad({value}, leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const ParameterSpec& spec = model.parameters[i].spec;
    const Tensor expected = view_tensor(golden, "grad." + spec.name);
    test::expect_close(halves_to_pairs(gradients[i], spec.paired_dimensions), expected, kTolerance, spec.name);
  }
}

TEST_P(Goldens, TokenLossesAreTheLogitsLogProbabilities) {
  const Transformer model = load_model(dir(), log_);
  const SafetensorsFile golden = SafetensorsFile::open(dir() / "golden.safetensors");
  const Tensor tokens = view_tensor(golden, "tokens");
  const Tensor log_probabilities = at::log_softmax(view_tensor(golden, "logits").to(torch::kFloat64), -1);
  for (int64_t row = 0; row < tokens.size(0); ++row) {
    const Tensor targets = tokens[row].narrow(0, 1, tokens.size(1) - 1);
    const Tensor expected = -log_probabilities[row].gather(1, targets.unsqueeze(1)).squeeze(1);
    test::expect_close(token_losses(model, tokens[row]), expected, kTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(AllModels, Goldens, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return test::golden_test_name(info.param); });

}  // namespace
}  // namespace crope::model
