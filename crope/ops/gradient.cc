#include "crope/ops/gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "crope/ops/profile.h"

namespace crope::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Carries a function through autograd's table of saved values.
struct BackwardHolder : torch::CustomClassHolder {
  BackwardHolder(const char* name, BackwardFunction function, std::vector<bool> defined)
      : name(name), function(std::move(function)), defined(std::move(defined)) {}
  const char* name;
  BackwardFunction function;
  std::vector<bool> defined;  // of each input; autograd knows the defined ones alone
  ProfileHandle profile = current_profile();
};

constexpr const char* kBackwardKey = "backward";

class HandWritten : public torch::autograd::Function<HandWritten> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList /*inputs*/, const char* name,
                               const std::function<ForwardResult()>& forward, BackwardFunction& backward,
                               const std::vector<bool>& defined) {
    // Below autograd: views made here are plain tensors, and dispatch is shorter.
    const at::AutoDispatchBelowADInplaceOrView below;
    ForwardResult result = forward();
    context->save_for_backward(std::move(result.saved));
    context->saved_data[kBackwardKey] =
        c10::IValue::make_capsule(c10::make_intrusive<BackwardHolder>(name, std::move(backward), defined));
    return std::move(result.outputs);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto holder =
        c10::static_intrusive_pointer_cast<BackwardHolder>(context->saved_data.at(kBackwardKey).toCapsule());
    const ProfileScope profile(holder->profile);  // devices other than the CPU have a thread of their own
    const ProfiledPart part(holder->name, Pass::backward);
    BackwardCall call{.saved = context->get_saved_variables(), .grads = std::move(grads), .needed = {}};
    size_t next = 0;
    for (const bool defined : holder->defined) call.needed.push_back(defined && context->needs_input_grad(next++));
    variable_list all = holder->function(call), results;
    for (size_t i = 0; i < holder->defined.size(); ++i) {
      if (holder->defined[i]) results.push_back(std::move(all[i]));
    }
    results.resize(results.size() + kExtraArguments);
    return results;
  }

 private:
  static constexpr size_t kExtraArguments = 4;  // of forward, besides the tensors
};

}  // namespace

bool needs_gradient(const TensorList& inputs) {
  return at::GradMode::is_enabled() &&
         std::ranges::any_of(inputs, [](const torch::Tensor& x) { return x.defined() && x.requires_grad(); });
}

TensorList with_gradient(const char* name, const TensorList& inputs, const std::function<ForwardResult()>& forward,
                         BackwardFunction backward) {
  const ProfiledPart part(name);
  if (!needs_gradient(inputs)) return forward().outputs;
  TensorList known;
  std::vector<bool> defined;
  for (const torch::Tensor& input : inputs) {
    defined.push_back(input.defined());
    if (input.defined()) known.push_back(input);
  }
  return HandWritten::apply(at::TensorList(known), name, forward, backward, defined);
}

}  // namespace crope::ops
