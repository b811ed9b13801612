#include "crope/dist/data_parallel.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace crope::dist {

using torch::Tensor;

// Called by autograd when a backward pass has added to the gradient of a parameter.
struct GradientReducer::Hook : torch::autograd::PostAccumulateGradHook {
  Hook(GradientReducer& reducer, std::size_t parameter) : reducer(reducer), parameter(parameter) {}
  void operator()(const torch::autograd::Variable&) override {
    if (reducer.is_sending_) reducer.take(parameter);
  }
  GradientReducer& reducer;
  std::size_t parameter;
};

GradientReducer::GradientReducer(std::shared_ptr<ProcessGroup> group, std::vector<Tensor> parameters,
                                 const BucketOptions& options)
    : group_(std::move(group)), parameters_(std::move(parameters)) {
  if (group_->size() == 1) return;
  places_.resize(parameters_.size());
  std::vector<std::int64_t> sizes;  // of each bucket, in numbers
  std::vector<std::int64_t> offsets(parameters_.size());
  std::int64_t room = 0;
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const auto bytes = static_cast<std::int64_t>(parameters_[i].nbytes());
    if (sizes.empty() || bytes > room) {
      room = sizes.empty() ? options.first_bytes : options.bytes;
      sizes.push_back(0);
      buckets_.emplace_back();
    }
    room -= bytes;
    offsets[i] = sizes.back();
    sizes.back() += parameters_[i].numel();
    places_[i].bucket = buckets_.size() - 1;
    ++buckets_.back().parameters;
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    buckets_[b].values = at::zeros({sizes[b]}, parameters_[0].options().requires_grad(false));
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    places_[i].slice =
        buckets_[places_[i].bucket].values.narrow(0, offsets[i], parameters_[i].numel()).view(parameters_[i].sizes());
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i], std::make_unique<Hook>(*this, i));
  }
}

GradientReducer::~GradientReducer() {
  if (places_.empty()) return;
  for (const Tensor& parameter : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void GradientReducer::begin() {
  for (Place& place : places_) place.is_ready = false;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters;
  next_ = 0;
  is_sending_ = true;
}

void GradientReducer::take(std::size_t parameter) {
  Place& place = places_[parameter];
  if (place.is_ready) return;
  const at::NoGradGuard no_grad;
  Tensor& grad = parameters_[parameter].mutable_grad();
  if (grad.defined()) {
    place.slice.copy_(grad);
  } else {
    place.slice.zero_();
  }
  grad = place.slice;  // and the memory that it was in is free
  place.is_ready = true;
  --buckets_[place.bucket].missing;
  send_full_buckets();
}

void GradientReducer::send_full_buckets() {
  for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_) {
    buckets_[next_].sum = group_->all_reduce(buckets_[next_].values);
  }
}

void GradientReducer::finish() {
  for (std::size_t i = places_.size(); i-- > 0;) take(i);
  is_sending_ = false;
  for (Bucket& bucket : buckets_) bucket.sum.wait();
}

}  // namespace crope::dist
