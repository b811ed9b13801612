#include "crope/ops/recompute.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "crope/ops/derived_weights.h"
#include "crope/ops/gradient.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Autocast as it was in the forward pass: the backward pass runs without.
class AutocastAs {
 public:
  AutocastAs(at::DeviceType device, bool enabled)
      : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_enabled(device_, enabled);
  }
  ~AutocastAs() { at::autocast::set_autocast_enabled(device_, before_); }

 private:
  at::DeviceType device_;
  bool before_;
};

TensorList recompute_backward(const BackwardCall& call, const TensorFunction& function, bool autocast,
                              const std::shared_ptr<DerivedWeightStore>& derived) {
  TensorList leaves, wanted;
  for (size_t i = 0; i < call.saved.size(); ++i) {
    const Tensor& input = call.saved[i];
    leaves.push_back(input.defined() ? input.detach() : input);
    if (call.needed[i]) wanted.push_back(leaves.back().requires_grad_());
  }
  const at::AutoGradMode grad_mode(true);
  TensorList outputs;
  {
    const AutocastAs scope(call.saved.front().device().type(), autocast);
    const DerivedWeightScope kept(derived);  // this may be another thread
    outputs = function(leaves);
  }
  TensorList reached, grads;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!call.grads[i].defined() || !outputs[i].requires_grad()) continue;
    reached.push_back(outputs[i]);
    grads.push_back(call.grads[i]);
  }
  TensorList results(call.saved.size());
  if (reached.empty()) return results;
  const TensorList gradients = torch::autograd::grad(reached, wanted, grads, /*retain_graph=*/std::nullopt,
                                                     /*create_graph=*/false, /*allow_unused=*/true);
  auto next = gradients.begin();
  for (size_t i = 0; i < results.size(); ++i) {
    if (call.needed[i]) results[i] = *next++;
  }
  return results;
}

}  // namespace

std::vector<Tensor> recomputed(const std::vector<Tensor>& inputs, const TensorFunction& function) {
  const bool autocast = at::autocast::is_autocast_enabled(inputs.front().device().type());
  return with_gradient(
      "recompute", inputs, [&] { return ForwardResult{.outputs = function(inputs), .saved = inputs}; },
      [function, autocast, derived = current_derived_weights()](const BackwardCall& call) {
        return recompute_backward(call, function, autocast, derived);
      });
}

}  // namespace crope::ops
