#include "crope/optim/muon.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "crope/base/error.h"
#include "crope/base/parallel.h"
#include "crope/ops/device.h"
#include "crope/ops/optimizer_update.h"
#include "crope/ops/profile.h"

namespace crope::optim {
namespace {

using torch::Tensor;

void check_matrix(const MuonMatrix& matrix) {
  const std::vector<Tensor>& parts = matrix.parts;
  const bool fits = (parts.size() == 1 || parts.size() == 2) && std::ranges::all_of(parts, [&](const Tensor& part) {
                      return part.dim() == 2 && part.sizes() == parts.front().sizes();
                    });
  if (!fits) throw Error("[muon] a matrix is one 2-D tensor, or two of the same shape");
  const bool can_be_quartered = !matrix.is_pair() && parts[0].size(0) % 2 == 0 && parts[0].size(1) % 2 == 0;
  if (matrix.in_quarters && !can_be_quartered) throw Error("[muon] only a real matrix of even sizes has quarters");
}

// The sizes of what is orthogonalised at once.
std::pair<int64_t, int64_t> orthogonalised_shape(const MuonMatrix& matrix) {
  const int64_t divisor = matrix.in_quarters ? 2 : 1;
  return {matrix.parts[0].size(0) / divisor, matrix.parts[0].size(1) / divisor};
}

double orthogonalisation_flops(const MuonMatrix& matrix, const ops::NewtonSchulzOptions& options) {
  const auto [R, C] = orthogonalised_shape(matrix);
  const auto kind = matrix.is_pair() ? ops::MatrixKind::pair : ops::MatrixKind::real;
  return (matrix.in_quarters ? 4 : 1) * ops::newton_schulz_flops(R, C, kind, options);
}

// The orthogonal factor of the update of `matrix`, computed in options.iteration_type.
std::vector<Tensor> orthogonalise(const MuonMatrix& matrix, const std::vector<Tensor>& update,
                                  const MuonOptions& options) {
  const auto cast = [&](const Tensor& part) { return part.to(options.iteration_type); };
  if (matrix.is_pair()) {
    const ops::ComplexWeight pair{cast(update[0]), cast(update[1])};
    const auto [a, b] = ops::newton_schulz(pair, options.newton_schulz);
    return {a, b};
  }
  const auto factor = [&](const Tensor& part) { return ops::newton_schulz(cast(part), options.newton_schulz); };
  if (!matrix.in_quarters) return {factor(update[0])};
  std::vector<Tensor> rows;
  for (const Tensor& half : update[0].chunk(2, 0)) {
    std::vector<Tensor> columns;
    for (const Tensor& quarter : half.chunk(2, 1)) columns.push_back(factor(quarter));
    rows.push_back(at::cat(columns, 1));
  }
  return {at::cat(rows, 0)};
}

// The same of n matrices like `matrix` at once: parts[n, R, C].
std::vector<Tensor> orthogonalise_batch(const MuonMatrix& matrix, const std::vector<Tensor>& parts,
                                        const MuonOptions& options) {
  if (matrix.is_pair()) {
    const auto [a, b] = ops::newton_schulz_batch({parts[0], parts[1]}, options.newton_schulz);
    return {a, b};
  }
  if (!matrix.in_quarters) return {ops::newton_schulz_batch(parts[0], options.newton_schulz)};
  // The quarters as four times as many matrices.
  const int64_t n = parts[0].size(0), R = parts[0].size(1) / 2, C = parts[0].size(2) / 2;
  const Tensor quarters = parts[0].view({n, 2, R, 2, C}).permute({0, 1, 3, 2, 4}).reshape({4 * n, R, C});
  const Tensor done = ops::newton_schulz_batch(quarters, options.newton_schulz);
  return {done.reshape({n, 2, 2, R, C}).permute({0, 1, 3, 2, 4}).reshape({n, 2 * R, 2 * C})};
}

}  // namespace

double lr_factor(const MuonMatrix& matrix, LrAdjustment adjustment) {
  const double scale = matrix.is_pair() ? 2 : 1;  // a pair's expanded matrix is twice as high and as wide
  const auto [R, C] = orthogonalised_shape(matrix);
  const double rows = scale * static_cast<double>(R), columns = scale * static_cast<double>(C);
  switch (adjustment) {
    case LrAdjustment::original:
      return std::sqrt(std::max(1.0, rows / columns));
    case LrAdjustment::match_rms_adamw:
      return 0.2 * std::sqrt(std::max(rows, columns));
  }
  return 1.0;
}

double update_cost(const MuonMatrix& matrix) {
  const auto [R, C] = orthogonalised_shape(matrix);
  return static_cast<double>(matrix.parts[0].numel()) * static_cast<double>(std::min(R, C)) *
         (matrix.is_pair() ? 2.9 : 1.0);  // a pair takes 6.1 products, a matrix 2.1
}

Muon::Muon(std::vector<MuonMatrix> matrices, const MuonOptions& options)
    : matrices_(std::move(matrices)), options_(options) {
  for (const MuonMatrix& matrix : matrices_) {
    check_matrix(matrix);
    std::vector<Tensor> buffers;
    for (const Tensor& part : matrix.parts) buffers.push_back(at::zeros_like(part));
    momentum_.push_back(std::move(buffers));
  }
}

void Muon::step(double lr) {
  step(lr, 0, matrices_.size());
}

// Matrices do not depend on each other: whole ones go to threads, the most expensive first, and each thread's products
// stay in its own cache. Which thread takes which changes nothing in the results. What does not fill the threads, and
// what ATen computes, is done by all of them, one matrix after the other.
void Muon::step(double lr, std::size_t first, std::size_t end) {
  const ops::ProfiledPart part("muon");
  std::vector<std::size_t> whole, shared;  // matrices of one thread each, and of all threads
  for (std::size_t i = first; i < end; ++i) {
    const MuonMatrix& matrix = matrices_[i];
    const auto has_grad = [](const Tensor& part) { return part.grad().defined(); };
    if (std::ranges::none_of(matrix.parts, has_grad)) continue;
    if (!std::ranges::all_of(matrix.parts, has_grad)) throw Error("[muon] only one part of a pair has a gradient");
    ops::count_flops(orthogonalisation_flops(matrix, options_.newton_schulz));
    const bool has_kernel = options_.iteration_type == matrix.parts[0].scalar_type() && matrix.parts[0].is_cpu() &&
                            ops::kernels_for({matrix.parts[0]}).newton_schulz != nullptr;
    (has_kernel ? whole : shared).push_back(i);
  }
  const auto threads = static_cast<std::size_t>(thread_count());
  if (threads == 1 || whole.size() < 2 * threads)
    shared.insert(shared.end(), whole.begin(), whole.end()), whole.clear();
  if (!shared.empty() && ops::prefers_few_launches(matrices_[shared.front()].parts[0])) {
    update_together(shared, lr);
    return;
  }
  for (const std::size_t i : shared) update(i, lr);
  const auto cost = [&](std::size_t i) { return update_cost(matrices_[i]); };
  std::ranges::stable_sort(whole, std::greater(), cost);
  parallel_items(static_cast<int64_t>(whole.size()),
                 [&](int64_t i, int64_t) { update(whole[static_cast<std::size_t>(i)], lr); });
}

// In as few operations as there are kinds of shapes: momentum of all parts at once, then the orthogonal factors and the
// new values of all matrices of one shape.
void Muon::update_together(const std::vector<std::size_t>& places, double lr) {
  const at::NoGradGuard no_grad;
  using Kind = std::tuple<int64_t, int64_t, bool, bool>;
  std::map<Kind, std::vector<std::size_t>> kinds;
  std::vector<Tensor> buffers, grads;
  for (const std::size_t i : places) {
    const MuonMatrix& matrix = matrices_[i];
    kinds[{matrix.parts[0].size(0), matrix.parts[0].size(1), matrix.is_pair(), matrix.in_quarters}].push_back(i);
    for (std::size_t part = 0; part < matrix.parts.size(); ++part) {
      buffers.push_back(momentum_[i][part]);
      grads.push_back(matrix.parts[part].grad());
    }
  }
  at::_foreach_lerp_(buffers, grads, 1 - options_.momentum);
  const std::vector<Tensor> updates =
      options_.nesterov ? at::_foreach_lerp(grads, buffers, options_.momentum) : buffers;
  std::map<std::size_t, std::size_t> first_update;  // of a matrix, in `updates`
  std::size_t next = 0;
  for (const std::size_t i : places) {
    first_update[i] = next;
    next += matrices_[i].parts.size();
  }
  const double keep = 1 - lr * options_.weight_decay;  // by the unadjusted rate
  for (const auto& [kind, members] : kinds) {
    const MuonMatrix& any = matrices_[members.front()];
    std::vector<Tensor> values, directions;
    std::vector<Tensor> stacked;
    for (std::size_t part = 0; part < any.parts.size(); ++part) {
      std::vector<Tensor> group;
      for (const std::size_t i : members) {
        group.push_back(updates[first_update[i] + part]);
        values.push_back(matrices_[i].parts[part]);
      }
      stacked.push_back(at::stack(group).to(options_.iteration_type));
    }
    for (const Tensor& batch : orthogonalise_batch(any, stacked, options_)) {
      for (const Tensor& direction : batch.to(values.front().scalar_type()).unbind(0)) directions.push_back(direction);
    }
    at::_foreach_mul_(values, keep);
    at::_foreach_add_(values, directions, -lr * lr_factor(any, options_.lr_adjustment));
  }
}

void Muon::update(std::size_t i, double lr) {
  const at::NoGradGuard no_grad;  // of this thread
  const MuonMatrix& matrix = matrices_[i];
  const ops::MomentumOptions momentum{
      .momentum = options_.momentum,
      .nesterov = options_.nesterov,
      // A last bit of fp32 may decide how an entry rounds to bf16: the update must then be torch.optim.Muon's exactly.
      .in_torch_order = options_.iteration_type != matrix.parts[0].scalar_type()};
  std::vector<Tensor> update;
  for (std::size_t part = 0; part < matrix.parts.size(); ++part) {
    update.push_back(ops::momentum_step(momentum_[i][part], matrix.parts[part].grad(), momentum));
  }
  const std::vector<Tensor> direction = orthogonalise(matrix, update, options_);
  const double rate = lr * lr_factor(matrix, options_.lr_adjustment);
  const double keep = 1 - lr * options_.weight_decay;  // by the unadjusted rate
  for (std::size_t part = 0; part < matrix.parts.size(); ++part) {
    ops::decay_and_subtract(matrix.parts[part], direction[part], keep, rate);
  }
}

}  // namespace crope::optim
