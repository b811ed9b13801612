#include "crope/optim/muon.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/base/error.h"

namespace crope::optim {
namespace {

using torch::Tensor;

void check_matrix(const MuonMatrix& matrix) {
  const bool fits = (matrix.size() == 1 || matrix.size() == 2) && std::ranges::all_of(matrix, [&](const Tensor& part) {
                      return part.dim() == 2 && part.sizes() == matrix.front().sizes();
                    });
  if (!fits) throw Error("[muon] a matrix is one 2-D tensor, or two of the same shape");
}

// Replaces the update by its orthogonal factor, computed in `type`.
MuonMatrix orthogonalise(const MuonMatrix& update, const MuonOptions& options) {
  const auto cast = [&](const Tensor& part) { return part.to(options.iteration_type); };
  if (update.size() == 1) return {ops::newton_schulz(cast(update[0]), options.newton_schulz)};
  const ops::ComplexWeight factor =
      ops::newton_schulz(ops::ComplexWeight{cast(update[0]), cast(update[1])}, options.newton_schulz);
  return {factor.a, factor.b};
}

}  // namespace

double lr_factor(const MuonMatrix& matrix, LrAdjustment adjustment) {
  const double scale = static_cast<double>(matrix.size());  // a pair's expanded matrix is twice as high and as wide
  const double rows = scale * static_cast<double>(matrix[0].size(0));
  const double columns = scale * static_cast<double>(matrix[0].size(1));
  switch (adjustment) {
    case LrAdjustment::original:
      return std::sqrt(std::max(1.0, rows / columns));
    case LrAdjustment::match_rms_adamw:
      return 0.2 * std::sqrt(std::max(rows, columns));
  }
  return 1.0;
}

Muon::Muon(std::vector<MuonMatrix> matrices, const MuonOptions& options)
    : matrices_(std::move(matrices)), options_(options) {
  for (const MuonMatrix& matrix : matrices_) {
    check_matrix(matrix);
    MuonMatrix buffers;
    for (const Tensor& part : matrix) buffers.push_back(at::zeros_like(part));
    momentum_.push_back(std::move(buffers));
  }
}

void Muon::step(double lr) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const MuonMatrix& matrix = matrices_[i];
    const auto has_grad = [](const Tensor& part) { return part.grad().defined(); };
    if (std::ranges::none_of(matrix, has_grad)) continue;
    if (!std::ranges::all_of(matrix, has_grad)) throw Error("[muon] only one part of a pair has a gradient");

    MuonMatrix update;
    for (std::size_t part = 0; part < matrix.size(); ++part) {
      Tensor buffer = momentum_[i][part];
      const Tensor& grad = matrix[part].grad();
      buffer.lerp_(grad, 1 - options_.momentum);
      update.push_back(options_.nesterov ? grad.lerp(buffer, options_.momentum) : buffer);
    }
    const MuonMatrix direction = orthogonalise(update, options_);
    const double adjusted_lr = lr * lr_factor(matrix, options_.lr_adjustment);
    for (std::size_t part = 0; part < matrix.size(); ++part) {
      Tensor value = matrix[part];
      value.mul_(1 - lr * options_.weight_decay);  // by the unadjusted rate
      value.add_(direction[part], -adjusted_lr);
    }
  }
}

}  // namespace crope::optim
