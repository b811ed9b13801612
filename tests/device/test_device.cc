#include "tests/device/test_device.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/device/device_memory.h"

namespace crope::test {
namespace {

using c10::IValue;
using torch::Tensor;

std::mutex mutex;
Traffic seen;

void count_launch(const std::string& name) {
  const std::lock_guard lock(mutex);
  ++seen.launches;
  ++seen.by_name[name];
}

void count_bytes(std::initializer_list<Tensor> tensors) {
  const std::lock_guard lock(mutex);
  for (const Tensor& x : tensors) {
    if (x.defined()) seen.passed_bytes += static_cast<std::int64_t>(x.nbytes());
  }
}

void count_bytes(const IValue& value) {
  if (value.isTensor()) count_bytes({value.toTensor()});
  if (value.isTensorList()) {
    for (const Tensor& x : value.toTensorVector()) count_bytes({x});
  }
}

bool is_product(std::string_view name) {
  constexpr std::string_view kProducts[] = {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"};
  return std::ranges::find(kProducts, name) != std::end(kProducts);
}

void count_reading() {
  const std::lock_guard lock(mutex);
  ++seen.readings;
}

bool is_on_device(const Tensor& x) {
  return x.device().type() == c10::DeviceType::PrivateUse1;
}

// Kernels of the CPU run on plain tensors: without gradients and autocast.
struct HostScope {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

// Numbers of the program itself are tensors of the CPU; everything else there is a mistake.
Tensor to_host(const Tensor& x, const std::string& operation) {
  if (!x.defined() || x.unsafeGetTensorImpl()->is_wrapped_number()) return x;
  TORCH_CHECK(is_on_device(x), operation, ": a tensor on ", x.device(), " among tensors on ", test_device());
  return host_alias(x);
}

IValue to_host(const IValue& value, const std::string& operation) {
  if (value.isTensor()) return to_host(value.toTensor(), operation);
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor& x : value.toTensorVector()) list.push_back(to_host(x, operation));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> list;
    for (const std::optional<Tensor>& x : value.toOptionalTensorVector()) {
      list.push_back(x ? std::optional(to_host(*x, operation)) : x);
    }
    return list;
  }
  return value.isDevice() ? IValue(c10::Device(c10::kCPU)) : value;
}

void collect_memory(const IValue& value, std::set<const void*>& memory) {
  if (value.isTensor() && value.toTensor().defined()) memory.insert(value.toTensor().storage().data());
  if (value.isTensorList()) {
    for (const Tensor& x : value.toTensorVector()) memory.insert(x.storage().data());
  }
}

Tensor to_device(const Tensor& x, const std::set<const void*>& inputs, const std::string& operation) {
  if (!x.defined()) return x;
  TORCH_CHECK(x.numel() == 0 || !inputs.contains(x.storage().data()), operation,
              ": the test device needs a view of it");
  return device_copy(x);
}

IValue to_device(const IValue& value, const std::set<const void*>& inputs, const std::string& operation) {
  if (value.isTensor()) return to_device(value.toTensor(), inputs, operation);
  if (!value.isTensorList()) return value;
  c10::List<Tensor> list;
  for (const Tensor& x : value.toTensorVector()) list.push_back(to_device(x, inputs, operation));
  return list;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// An empty target gets its size from the operation.
void take_memory(const Tensor& target, const Tensor& source) {
  c10::TensorImpl* impl = target.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(source.storage());
  impl->set_sizes_and_strides(source.sizes(), source.strides());
}

// Operations whose number of results the host must wait for.
constexpr std::string_view kWaiting[] = {"aten::nonzero", "aten::masked_select", "aten::unique_dim", "aten::_unique2"};

// Runs any operation with the kernel of the CPU.
void run_on_host(const c10::OperatorHandle& operation, c10::DispatchKeySet, c10::Stack* stack) {
  const c10::FunctionSchema& schema = operation.schema();
  const std::string name = schema.name();
  count_launch(name);
  if (std::ranges::find(kWaiting, name) != std::end(kWaiting)) count_reading();
  const std::vector<IValue> originals = torch::jit::pop(*stack, schema.arguments().size());
  std::set<const void*> memory;
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const IValue& original = originals[i];
    if (is_written(schema.arguments()[i]) && original.isTensor() && original.toTensor().numel() == 0) {
      stack->push_back(at::empty({0}, at::TensorOptions(at::kCPU).dtype(original.toTensor().scalar_type())));
      continue;
    }
    stack->push_back(to_host(original, name));
    collect_memory(stack->back(), memory);
  }
  {
    const HostScope scope;
    operation.callBoxed(stack);
  }
  std::vector<IValue> results = torch::jit::pop(*stack, schema.returns().size());
  if (!is_product(name)) {
    for (const IValue& original : originals) count_bytes(original);
    for (const IValue& result : results) count_bytes(result);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const c10::AliasInfo* alias = schema.returns()[i].alias_info();
    if (alias == nullptr) {
      if (!results[i].isTensor() && !results[i].isTensorList()) count_reading();
      stack->push_back(to_device(results[i], memory, name));
      continue;
    }
    const auto argument = std::ranges::find_if(schema.arguments(), [&](const c10::Argument& one) {
      return is_written(one) && one.alias_info()->beforeSets() == alias->beforeSets();
    });
    TORCH_CHECK(argument != schema.arguments().end(), name, ": the test device needs a view of it");
    const IValue& original = originals[static_cast<std::size_t>(argument - schema.arguments().begin())];
    if (original.toTensor().numel() == 0) take_memory(original.toTensor(), device_copy(results[i].toTensor()));
    TORCH_CHECK(results[i].toTensor().sizes() == original.toTensor().sizes(), name, ": the result changed its size");
    stack->push_back(original);
  }
}

Tensor empty(c10::IntArrayRef sizes, std::optional<c10::ScalarType> type, std::optional<c10::Layout>,
             std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, &device_allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   type.value_or(at::kFloat), format);
}

Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::optional<c10::ScalarType> type,
                     std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, &device_allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           type.value_or(at::kFloat));
}

Tensor copy_from(const Tensor& source, const Tensor& target, bool /*non_blocking*/) {
  if (!is_on_device(target)) {
    count_reading();
  } else if (!is_on_device(source)) {
    const std::lock_guard lock(mutex);
    ++seen.uploads;
  } else {
    count_launch("aten::copy_");
    count_bytes({source, target});
    const std::lock_guard lock(mutex);
    if (source.scalar_type() != target.scalar_type()) ++seen.casts_from[memory_of(source)];
  }
  const HostScope scope;
  (is_on_device(target) ? host_alias(target) : target).copy_(is_on_device(source) ? host_alias(source) : source);
  return target;
}

c10::Scalar read_scalar(const Tensor& x) {
  count_reading();
  const HostScope scope;
  return at::_local_scalar_dense(host_alias(x));
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad_y, const Tensor& x, c10::IntArrayRef shape,
                                             const Tensor& scale, const std::optional<Tensor>& gain,
                                             std::array<bool, 2> wanted) {
  count_launch("aten::_fused_rms_norm_backward");
  TORCH_CHECK(shape.size() == 1 && gain.has_value(), "the test device normalises the last dimension, with a gain");
  const std::string name = "rms_norm_backward";
  const Tensor g = to_host(grad_y, name), values = to_host(x, name), r = to_host(scale, name);
  const Tensor weight = to_host(*gain, name);
  const HostScope scope;
  const Tensor normal = values * r, u = g * weight;
  const Tensor grad_x = (u - normal * (u * normal).mean(-1, true)) * r;
  const Tensor grad_gain = (g * normal).reshape({-1, shape[0]}).sum(0);
  count_bytes({g, values, grad_x});
  return {wanted[0] ? device_copy(grad_x) : Tensor(), wanted[1] ? device_copy(grad_gain) : Tensor()};
}

using AttentionResult = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>&,
                          double dropout, bool is_causal, bool, std::optional<double> scale) {
  count_launch("aten::_scaled_dot_product_fused_attention_overrideable");
  const std::string name = "attention";
  const Tensor host_q = to_host(q, name), host_k = to_host(k, name), host_v = to_host(v, name);
  const HostScope scope;
  const auto [y, log_sums] =
      at::_scaled_dot_product_flash_attention_for_cpu(host_q, host_k, host_v, dropout, is_causal, {}, scale);
  return {device_copy(y), device_copy(log_sums), {}, {}, q.size(2), k.size(2), {}, {}, {}};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(const Tensor& grad_y, const Tensor& q, const Tensor& k,
                                                              const Tensor& v, const Tensor&, std::array<bool, 4>,
                                                              const Tensor& y, const Tensor& log_sums, const Tensor&,
                                                              const Tensor&, c10::SymInt, c10::SymInt, double dropout,
                                                              bool is_causal, const Tensor&, const Tensor&,
                                                              std::optional<double> scale) {
  count_launch("aten::_scaled_dot_product_fused_attention_overrideable_backward");
  const std::string name = "attention_backward";
  const Tensor g = to_host(grad_y, name), host_q = to_host(q, name), host_k = to_host(k, name);
  const Tensor host_v = to_host(v, name), host_y = to_host(y, name), sums = to_host(log_sums, name);
  const HostScope scope;
  const auto [grad_q, grad_k, grad_v] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      g, host_q, host_k, host_v, host_y, sums, dropout, is_causal, {}, scale);
  return {device_copy(grad_q), device_copy(grad_k), device_copy(grad_v), {}};
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};

// One stream; an event on it has always happened.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, test_device()); }
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device) const override { return test_device(); }
  c10::Device getDevice() const override { return test_device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const override { return stream(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeDevice(const c10::DeviceIndex) const override { count_reading(); }
};

[[maybe_unused]] const c10::impl::DeviceGuardImplRegistrar kGuard(c10::DeviceType::PrivateUse1, new Guard);
[[maybe_unused]] const bool kHooked = [] {
  c10::register_privateuse1_backend("testdevice");
  c10::SetAllocator(c10::DeviceType::PrivateUse1, &device_allocator());
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

torch::CppFunction on_host() {
  return torch::CppFunction::makeFromBoxedFunction<&run_on_host>();
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(on_host());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("_local_scalar_dense", read_scalar);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view", at::native::view);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("view_as_real", at::native::view_as_real);
  library.impl("view_as_complex", at::native::view_as_complex);
  library.impl("_fused_rms_norm_backward", rms_norm_backward);
  library.impl("_scaled_dot_product_fused_attention_overrideable", attention);
  library.impl("_scaled_dot_product_fused_attention_overrideable_backward", attention_backward);
  // Chains of other operations unless a device has a kernel, as CUDA does.
  for (const char* name : {"_fused_rms_norm", "_foreach_lerp_.Scalar", "_foreach_lerp.Scalar", "_foreach_mul_.Scalar",
                           "_foreach_add_.List", "_foreach_norm.Scalar"}) {
    library.impl(name, on_host());
  }
}

// Autocast as on CUDA.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

#define CROPE_TO_BF16(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define CROPE_TO_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(CROPE_TO_BF16)
  AT_FORALL_FP32(CROPE_TO_FP32)
}

}  // namespace

torch::Device test_device() {
  return {c10::DeviceType::PrivateUse1, 0};
}

Traffic traffic() {
  const std::lock_guard lock(mutex);
  return seen;
}

void reset_traffic() {
  const std::lock_guard lock(mutex);
  seen = {};
}

std::string describe(const Traffic& traffic) {
  std::vector<std::pair<std::int64_t, std::string>> rows;
  for (const auto& [name, launches] : traffic.by_name) rows.emplace_back(launches, name);
  std::ranges::sort(rows, std::greater());
  std::string text;
  for (const auto& [launches, name] : rows) text += std::to_string(launches) + " " + name + "\n";
  return text;
}

}  // namespace crope::test

namespace at::native {
namespace {

int64_t fused_attention(const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&, double, bool,
                        std::optional<double>, bool) {
  return static_cast<int64_t>(sdp::SDPBackend::overrideable);
}

}  // namespace

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &fused_attention)

}  // namespace at::native
