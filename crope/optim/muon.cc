#include "crope/optim/muon.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "crope/base/error.h"
#include "crope/ops/cpu/optimizer_update.h"
#include "crope/ops/cpu/product_kernel.h"
#include "crope/ops/fused.h"
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
  const auto factor = [&](const Tensor& part) {
    return ops::newton_schulz(part.to(options.iteration_type), options.newton_schulz);
  };
  if (matrix.is_pair()) {
    const auto cast = [&](const Tensor& part) { return part.to(options.iteration_type); };
    const ops::ComplexWeight pair =
        ops::newton_schulz(ops::ComplexWeight{cast(update[0]), cast(update[1])}, options.newton_schulz);
    return {pair.a, pair.b};
  }
  if (!matrix.in_quarters) return {factor(update[0])};
  std::vector<Tensor> rows;
  for (const Tensor& half : update[0].chunk(2, 0)) {
    std::vector<Tensor> columns;
    for (const Tensor& quarter : half.chunk(2, 1)) columns.push_back(factor(quarter.contiguous()));
    rows.push_back(at::cat(columns, 1));
  }
  return {at::cat(rows, 0)};
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

bool Muon::takes_fused_path(std::size_t i) const {
  if (options_.iteration_type != torch::kFloat32 || !ops::cpu::product_kernels_pay()) return false;
  for (std::size_t part = 0; part < matrices_[i].parts.size(); ++part) {
    const Tensor &value = matrices_[i].parts[part], &grad = value.grad(), &buffer = momentum_[i][part];
    const bool plain = value.is_contiguous() && grad.is_contiguous() && buffer.is_contiguous();
    if (!plain || !ops::fused_for({value, grad, buffer})) return false;
  }
  return true;
}

void Muon::step(double lr) {
  step(lr, 0, matrices_.size());
}

void Muon::step(double lr, std::size_t first, std::size_t end) {
  const ops::ProfiledPart part("muon");
  const at::NoGradGuard no_grad;
  std::vector<std::size_t> fused;
  for (std::size_t i = first; i < end; ++i) {
    const MuonMatrix& matrix = matrices_[i];
    const auto has_grad = [](const Tensor& part) { return part.grad().defined(); };
    if (std::ranges::none_of(matrix.parts, has_grad)) continue;
    if (!std::ranges::all_of(matrix.parts, has_grad)) throw Error("[muon] only one part of a pair has a gradient");
    ops::count_flops(orthogonalisation_flops(matrix, options_.newton_schulz));
    if (takes_fused_path(i)) {
      fused.push_back(i);
    } else {
      update(i, lr);
    }
  }
  update_fused(fused, lr);
}

void Muon::update(std::size_t i, double lr) {
  const MuonMatrix& matrix = matrices_[i];
  std::vector<Tensor> update;
  for (std::size_t part = 0; part < matrix.parts.size(); ++part) {
    Tensor buffer = momentum_[i][part];
    const Tensor& grad = matrix.parts[part].grad();
    buffer.lerp_(grad, 1 - options_.momentum);
    update.push_back(options_.nesterov ? grad.lerp(buffer, options_.momentum) : buffer);
  }
  const std::vector<Tensor> direction = orthogonalise(matrix, update, options_);
  const double adjusted_lr = lr * lr_factor(matrix, options_.lr_adjustment);
  for (std::size_t part = 0; part < matrix.parts.size(); ++part) {
    Tensor value = matrix.parts[part];
    value.mul_(1 - lr * options_.weight_decay);  // by the unadjusted rate
    value.add_(direction[part], -adjusted_lr);
  }
}

// Matrices do not depend on each other: whole ones go to threads, the most expensive first, and each thread's products
// stay in its own cache. Which thread takes which changes nothing in the results.
void Muon::update_fused(std::vector<std::size_t> which, double lr) {
  const auto cost = [&](std::size_t i) { return update_cost(matrices_[i]); };
  std::ranges::stable_sort(which, [&](std::size_t i, std::size_t j) { return cost(i) > cost(j); });
  const auto threads = static_cast<std::size_t>(at::get_num_threads());
  if (workspaces_.size() < threads) workspaces_.resize(threads);
  // What does not fill the threads is done together by all of them, one matrix after the other.
  const std::size_t alone = which.size() < 2 * threads ? 0 : which.size();
  if (alone > 0 && threads > 1) {
    ops::parallel_items(static_cast<int64_t>(alone), [&](int64_t i, int64_t worker) {
      update_fused_matrix(which[static_cast<std::size_t>(i)], lr, workspaces_[static_cast<std::size_t>(worker)]);
    });
  } else {
    for (const std::size_t i : which) update_fused_matrix(i, lr, workspaces_[0]);
  }
}

void Muon::update_fused_matrix(std::size_t i, double lr, Workspace& workspace) {
  const MuonMatrix& matrix = matrices_[i];
  const std::vector<Tensor>& parts = matrix.parts;
  const int64_t size = parts[0].numel();
  const std::vector<float*> update = workspace.updates.blocks(static_cast<int>(parts.size()), size);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ops::cpu::momentum_update({.momentum = static_cast<float>(options_.momentum),
                               .nesterov = options_.nesterov,
                               .grad = parts[part].grad().const_data_ptr<float>(),
                               .buffer = momentum_[i][part].data_ptr<float>(),
                               .update = update[part]},
                              size);
  }
  const int64_t R = parts[0].size(0), C = parts[0].size(1);
  if (matrix.is_pair()) {
    ops::newton_schulz_in_place(update[0], update[1], R, C, options_.newton_schulz, workspace.iteration);
  } else if (matrix.in_quarters) {
    orthogonalise_quarters(update[0], R, C, workspace);
  } else {
    ops::newton_schulz_in_place(update[0], R, C, options_.newton_schulz, workspace.iteration);
  }
  const double rate = lr * lr_factor(matrix, options_.lr_adjustment);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ops::cpu::decay_and_subtract(parts[part].data_ptr<float>(), update[part],
                                 static_cast<float>(1 - lr * options_.weight_decay), static_cast<float>(rate), size);
  }
}

void Muon::orthogonalise_quarters(float* update, int64_t R, int64_t C, Workspace& workspace) const {
  const int64_t M = R / 2, N = C / 2;
  float* const quarter = workspace.quarter.blocks(1, M * N)[0];
  for (const int64_t first_row : {int64_t{0}, M}) {
    for (const int64_t first_column : {int64_t{0}, N}) {
      float* const corner = update + first_row * C + first_column;
      for (int64_t r = 0; r < M; ++r) std::copy_n(corner + r * C, N, quarter + r * N);
      ops::newton_schulz_in_place(quarter, M, N, options_.newton_schulz, workspace.iteration);
      for (int64_t r = 0; r < M; ++r) std::copy_n(quarter + r * N, N, corner + r * C);
    }
  }
}

}  // namespace crope::optim
