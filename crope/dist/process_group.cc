#include "crope/dist/process_group.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstring>
#include <exception>

#include "crope/base/error.h"
#include "crope/dist/backend.h"

namespace crope::dist {
namespace {

using torch::Tensor;

[[noreturn]] void throw_lost(const std::string& what, const std::exception& cause) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&cause);
  throw Error(
      fmt::format("{} failed: {}", what, torch_error != nullptr ? torch_error->what_without_backtrace() : cause.what()),
      "another rank has ended or does not answer: look for its own message; the run resumes from its last checkpoint");
}

}  // namespace

Pending::Pending() = default;
Pending::Pending(c10::intrusive_ptr<c10d::Work> work, std::string what)
    : work_(std::move(work)), what_(std::move(what)) {}
Pending::Pending(Pending&&) noexcept = default;
Pending& Pending::operator=(Pending&&) noexcept = default;
Pending::~Pending() = default;

void Pending::wait() {
  if (!work_) return;
  const auto work = std::move(work_);
  try {
    work->wait();
  } catch (const std::exception& e) {
    throw_lost(what_, e);
  }
}

ProcessGroup::ProcessGroup() = default;

// Taking the backend down waits for what it has under way: for ever, as it may be, when an error is the reason.
ProcessGroup::~ProcessGroup() {
  if (std::uncaught_exceptions() > 0) backend_.release();
}

ProcessGroup::ProcessGroup(const Launch& launch, const GroupOptions& options) : launch_(launch), options_(options) {
  if (launch.size == 1) return;
  backend_ = connect_backend(launch, options.device, options.timeout);
  self_test();
}

std::string ProcessGroup::describe(const char* operation) const {
  return fmt::format("rank {} of {}: {}", rank(), size(), operation);
}

Pending ProcessGroup::all_reduce(Tensor tensor) {
  if (!backend_) return {};
  std::vector<Tensor> tensors = {std::move(tensor)};
  try {
    return {backend_->allreduce(tensors), describe("the sum over ranks")};
  } catch (const std::exception& e) {
    throw_lost(describe("the sum over ranks"), e);
  }
}

Pending ProcessGroup::broadcast(Tensor tensor, int root) {
  if (!backend_) return {};
  std::vector<Tensor> tensors = {std::move(tensor)};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  try {
    return {backend_->broadcast(tensors, options), describe("the broadcast")};
  } catch (const std::exception& e) {
    throw_lost(describe("the broadcast"), e);
  }
}

double ProcessGroup::sum(double value) {
  if (!backend_) return value;
  const Tensor tensor = at::full({1}, value, at::TensorOptions(options_.device).dtype(torch::kFloat64));
  all_reduce(tensor).wait();
  return tensor.item<double>();
}

std::vector<std::string> ProcessGroup::gather(const std::string& text) {
  if (!backend_) return {text};
  const auto mine = static_cast<std::int64_t>(rank());
  const Tensor lengths = at::zeros({size()}, torch::kInt64);
  lengths[mine].fill_(static_cast<std::int64_t>(text.size()));
  const Tensor shared_lengths = lengths.to(options_.device);
  all_reduce(shared_lengths).wait();
  const Tensor ends = shared_lengths.to(torch::kCPU).cumsum(0);
  const auto* end = ends.const_data_ptr<std::int64_t>();
  const auto begin = [&](std::int64_t rank) { return rank == 0 ? 0 : end[rank - 1]; };
  std::vector<std::string> texts(static_cast<std::size_t>(size()));
  if (end[size() - 1] == 0) return texts;
  // Every rank fills in its own stretch of zeros: the sum holds them all.
  const Tensor bytes = at::zeros({end[size() - 1]}, torch::kUInt8);
  std::memcpy(bytes.data_ptr<std::uint8_t>() + begin(mine), text.data(), text.size());
  const Tensor shared_bytes = bytes.to(options_.device);
  all_reduce(shared_bytes).wait();
  const Tensor all = shared_bytes.to(torch::kCPU);
  const auto* data = reinterpret_cast<const char*>(all.const_data_ptr<std::uint8_t>());
  for (std::int64_t r = 0; r < size(); ++r) texts[static_cast<std::size_t>(r)].assign(data + begin(r), data + end[r]);
  return texts;
}

// Each rank gives the powers of its own number: any rank left out or counted twice changes one of the sums.
void ProcessGroup::self_test() {
  const auto options = at::TensorOptions(options_.device).dtype(torch::kFloat64);
  const auto powers = [&](int rank) {
    const double x = rank + 1;
    return at::tensor({1.0, x, x * x}, torch::kFloat64).to(options);
  };
  const Tensor got = powers(rank());
  all_reduce(got).wait();
  Tensor expected = at::zeros({3}, options);
  for (int r = 0; r < size(); ++r) expected += powers(r);
  if (at::equal(got, expected)) return;
  const Tensor numbers = got.to(torch::kCPU), wanted = expected.to(torch::kCPU);
  throw Error(
      fmt::format("{}: the self-test's sums are {}, {}, {}; expected {}, {}, {}", describe("the sum over ranks"),
                  numbers[0].item<double>(), numbers[1].item<double>(), numbers[2].item<double>(),
                  wanted[0].item<double>(), wanted[1].item<double>(), wanted[2].item<double>()),
      "two ranks with one number, or two groups meeting at one address?");
}

std::shared_ptr<ProcessGroup> world_of_one() {
  return std::make_shared<ProcessGroup>();
}

}  // namespace crope::dist
