// What a step asks of a device that takes its orders one by one: operations started and numbers read back, counted on
// the CPU without fused kernels (CROPE_FUSED=0), where the plan for such devices runs.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "crope/model/init.h"
#include "crope/ops/device.h"
#include "crope/optim/grad_clip.h"
#include "crope/train/optimizer.h"
#include "crope/train/train_step.h"

namespace crope::train {
namespace {

// Operations that start nothing: they make a view, or memory that another one fills.
constexpr std::array kFree = {"view",
                              "_unsafe_view",
                              "_reshape_alias",
                              "reshape",
                              "t",
                              "transpose",
                              "permute",
                              "narrow",
                              "slice",
                              "select",
                              "expand",
                              "unsqueeze",
                              "squeeze",
                              "as_strided",
                              "detach",
                              "detach_",
                              "alias",
                              "unbind",
                              "split",
                              "split_with_sizes",
                              "chunk",
                              "empty",
                              "empty_like",
                              "empty_strided",
                              "resolve_conj",
                              "resolve_neg",
                              "real",
                              "imag",
                              "view_as_real",
                              "view_as_complex",
                              "conj",
                              "_conj",
                              "mH",
                              "adjoint",
                              "result_type",
                              "to",
                              "contiguous",
                              "lift_fresh",
                              "set_",
                              "is_same_size",
                              "_local_scalar_dense"};

// Operations that are one launch on a device, or a few, whatever the CPU makes of them: a loop over tensors, or
// operands of mixed types that it casts first, each by an operation of its own.
constexpr std::array kOneLaunch = {"_foreach_",
                                   "_fused_",
                                   "_scaled_dot_product",
                                   "linalg_vector_norm",
                                   "add",
                                   "sub",
                                   "mul",
                                   "div",
                                   "neg",
                                   "pow",
                                   "sum",
                                   "mean",
                                   "lerp",
                                   "silu",
                                   "rsqrt",
                                   "where"};

bool is_one_launch(std::string_view name) {
  if (!name.starts_with("aten::")) return false;
  return std::ranges::any_of(kOneLaunch, [&](const char* one) { return name.substr(6).starts_with(one); });
}

constexpr int kDenseBudget = 2300, kTiedBudget = 2800;  // forward and backward of a micro-batch

struct Tally {
  int launches = 0, readings = 0;
  std::map<std::string, int> by_name;
};

struct Frame {
  std::string name;
  bool has_children = false;
};

std::mutex mutex;
Tally tally;
thread_local std::vector<Frame> frames;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  if (!frames.empty()) frames.back().has_children = true;
  frames.push_back({function.name()});
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
  const Frame frame = frames.back();
  frames.pop_back();
  for (const Frame& outer : frames) {
    if (is_one_launch(outer.name)) return;
  }
  const std::lock_guard lock(mutex);
  if (frame.name == "aten::_local_scalar_dense") ++tally.readings;
  if (!frame.name.starts_with("aten::")) return;
  if (frame.has_children && !is_one_launch(frame.name)) return;
  const std::string_view bare = std::string_view(frame.name).substr(6);
  for (const char* free : kFree) {
    if (bare == free) return;
  }
  ++tally.launches;
  ++tally.by_name[frame.name];
}

template <typename Work>
Tally count(const Work& work) {
  tally = {};
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return tally;
}

std::string largest(const Tally& counted) {
  std::vector<std::pair<int, std::string>> rows;
  for (const auto& [name, launches] : counted.by_name) rows.emplace_back(launches, name);
  std::ranges::sort(rows, std::greater());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 12); ++i) {
    text += std::to_string(rows[i].first) + " " + rows[i].second + "\n";
  }
  return text;
}

struct StepTally {
  Tally gradients, optimizer;
};

// The paper's 16 layers; widths do not change the counts.
StepTally count_step(model::Variant variant, std::int64_t micro_batches) {
  model::Transformer model = model::make_random_transformer({.vocab_size = 64,
                                                             .num_layers = 16,
                                                             .num_heads = 2,
                                                             .d_model = 32,
                                                             .d_ff = 32,
                                                             .max_seq_len = 16,
                                                             .variant = variant});
  model::set_requires_grad(model, true);
  OptimizerOptions options;
  options.muon.iteration_type = torch::kBFloat16;
  Optimizer optimizer(model, options);
  std::vector<torch::Tensor> values;
  for (const model::Parameter& parameter : model.parameters) values.push_back(parameter.value);
  data::TokenBatch batch{.rows = 2 * micro_batches, .tokens = std::vector<std::int64_t>(34 * micro_batches, 5)};
  const StepOptions step{.micro_batch_size = 2, .precision = torch::kBFloat16};
  StepTally result;
  result.gradients = count([&] { compute_gradients(model, batch, step, [] { return false; }); });
  result.optimizer = count([&] {
    optim::clip_gradient_norm(values, 1e9);
    optimizer.step(1e-3);
  });
  return result;
}

class LaunchBudget : public testing::TestWithParam<model::Variant> {
 protected:
  void SetUp() override {
    if (!ops::prefers_few_launches(at::zeros({1}))) {
      GTEST_SKIP() << "fused kernels are on: run with CROPE_FUSED=0 to count the plan for other devices";
    }
  }
};

TEST_P(LaunchBudget, OfOneMicroBatchAndTheOptimizer) {
  const StepTally one = count_step(GetParam(), 1), three = count_step(GetParam(), 3);
  const bool is_tied = GetParam() != model::Variant::rope;
  const int forward_backward = (three.gradients.launches - one.gradients.launches) / 2;
  RecordProperty("forward_backward", forward_backward);
  RecordProperty("optimizer", one.optimizer.launches);
  EXPECT_LE(one.gradients.launches, is_tied ? kTiedBudget : kDenseBudget) << largest(one.gradients);
  EXPECT_LE(forward_backward, is_tied ? kTiedBudget : kDenseBudget);
  EXPECT_LE(one.optimizer.launches, 600) << largest(one.optimizer);
  // The loss and the norm of the gradient; no more for more micro-batches.
  EXPECT_EQ(one.gradients.readings, 1);
  EXPECT_EQ(three.gradients.readings, 1);
  EXPECT_EQ(one.optimizer.readings, 1);
}

INSTANTIATE_TEST_SUITE_P(Variants, LaunchBudget, testing::Values(model::Variant::rope, model::Variant::crope_all),
                         [](const auto& info) { return std::string(model::traits(info.param).name); });

}  // namespace
}  // namespace crope::train
