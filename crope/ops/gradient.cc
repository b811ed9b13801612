#include "crope/ops/gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace crope::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Carries a function through autograd's table of saved values.
struct BackwardHolder : torch::CustomClassHolder {
  BackwardHolder(BackwardFunction function, size_t num_inputs)
      : function(std::move(function)), num_inputs(num_inputs) {}
  BackwardFunction function;
  size_t num_inputs;
};

constexpr const char* kBackwardKey = "backward";

class HandWritten : public torch::autograd::Function<HandWritten> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList inputs,
                               const std::function<ForwardResult()>& forward, BackwardFunction& backward) {
    // Below autograd: views made here are plain tensors, and dispatch is shorter.
    const at::AutoDispatchBelowADInplaceOrView below;
    ForwardResult result = forward();
    context->save_for_backward(std::move(result.saved));
    context->saved_data[kBackwardKey] =
        c10::IValue::make_capsule(c10::make_intrusive<BackwardHolder>(std::move(backward), inputs.size()));
    return std::move(result.outputs);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto holder =
        c10::static_intrusive_pointer_cast<BackwardHolder>(context->saved_data.at(kBackwardKey).toCapsule());
    BackwardCall call{.saved = context->get_saved_variables(), .grads = std::move(grads), .needed = {}};
    for (size_t i = 0; i < holder->num_inputs; ++i) call.needed.push_back(context->needs_input_grad(i));
    variable_list results = holder->function(call);
    results.resize(holder->num_inputs + kExtraArguments);
    return results;
  }

 private:
  static constexpr size_t kExtraArguments = 2;  // of forward, besides the tensors
};

}  // namespace

bool needs_gradient(const TensorList& inputs) {
  return at::GradMode::is_enabled() &&
         std::ranges::any_of(inputs, [](const torch::Tensor& x) { return x.defined() && x.requires_grad(); });
}

TensorList with_gradient(const TensorList& inputs, const std::function<ForwardResult()>& forward,
                         BackwardFunction backward) {
  if (!needs_gradient(inputs)) return forward().outputs;
  return HandWritten::apply(at::TensorList(inputs), forward, backward);
}

}  // namespace crope::ops
