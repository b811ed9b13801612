#include "crope/dist/agreement.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"

namespace crope::dist {
namespace {

constexpr char kInterrupted = 'i', kFailed = 'f';

// An error's kind and words on the way to other ranks; empty means that there was none.
std::string encode_failure(const std::exception& e) {
  const auto* error = dynamic_cast<const Error*>(&e);
  const bool is_interrupt = dynamic_cast<const Interrupted*>(&e) != nullptr;
  return fmt::format("{}{}\n{}", is_interrupt ? kInterrupted : kFailed, e.what(),
                     error != nullptr ? error->hint() : "");
}

std::string message_of(const std::string& failure) {
  return failure.substr(1, failure.rfind('\n') - 1);
}

std::string hint_of(const std::string& failure) {
  return failure.substr(failure.rfind('\n') + 1);
}

void throw_if_one_was_interrupted(std::span<const std::string> failures) {
  for (const std::string& failure : failures) {
    if (failure.starts_with(kInterrupted)) throw Interrupted(message_of(failure));
  }
}

}  // namespace

void run_on_all_ranks(ProcessGroup& group, const std::function<void()>& work) {
  if (group.size() == 1) return work();
  std::string failure;
  std::exception_ptr mine;
  try {
    work();
  } catch (const std::exception& e) {
    failure = encode_failure(e);
    mine = std::current_exception();
  }
  std::vector<std::string> failures;
  try {
    failures = group.gather(failure);
  } catch (const Error&) {
    if (mine) std::rethrow_exception(mine);  // the cause rather than what came of it
    throw;
  }
  if (mine) std::rethrow_exception(mine);
  throw_if_one_was_interrupted(failures);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    throw Error(fmt::format("rank {}: {}", rank, message_of(failures[rank])), hint_of(failures[rank]));
  }
}

bool all_succeed(ProcessGroup& group, const std::function<void()>& work, std::string& message) {
  std::string failure;
  try {
    work();
  } catch (const Error& e) {
    failure = encode_failure(e);
  }
  const std::vector<std::string> failures = group.gather(failure);
  throw_if_one_was_interrupted(failures);
  for (const std::string& each : failures) {
    if (each.empty()) continue;
    message = message_of(each);
    return false;
  }
  return true;
}

void check_same(ProcessGroup& group, std::span<const torch::Tensor> tensors, const std::string& what) {
  if (group.size() == 1) return;
  std::uint64_t hash = 0;
  for (const torch::Tensor& tensor : tensors) {
    const torch::Tensor plain = tensor.detach().to(torch::kCPU).contiguous();
    hash = content_hash({static_cast<const std::byte*>(plain.const_data_ptr()), plain.nbytes()}, hash);
  }
  const std::vector<std::string> hashes = group.gather(hash_text(hash));
  std::vector<std::size_t> others;
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) others.push_back(rank);
  }
  if (others.empty()) return;
  throw Error(
      fmt::format("{}: rank{} {} {} other numbers than rank 0", what, others.size() == 1 ? "" : "s",
                  fmt::join(others, ", "), others.size() == 1 ? "has" : "have"),
      "ranks must run the same program on machines alike; start it again: the run resumes from its last checkpoint");
}

bool Vote::ask(bool mine) {
  if (group_.size() == 1) return mine;
  bool answer = false;
  if (votes_.defined()) {
    pending_.wait();
    answer = votes_.item<double>() > 0;
  }
  votes_ = at::full({1}, mine ? 1.0 : 0.0, at::TensorOptions(group_.device()).dtype(torch::kFloat64));
  pending_ = group_.all_reduce(votes_);
  return answer;
}

}  // namespace crope::dist
