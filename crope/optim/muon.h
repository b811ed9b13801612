// Muon: momentum, orthogonalised by Newton-Schulz (docs/mathematics.md, section 6). On real matrices it is
// torch.optim.Muon step for step; a tied pair is orthogonalised as one complex matrix.
#pragma once

#include <torch/types.h>

#include <vector>

#include "crope/ops/newton_schulz.h"
#include "crope/ops/newton_schulz_fused.h"

namespace crope::optim {

// How the learning rate follows the shape [R, C] of the matrix.
enum class LrAdjustment {
  original,         // sqrt(max(1, R/C))
  match_rms_adamw,  // 0.2 sqrt(max(R, C)): updates as large as AdamW's, so that its learning rates carry over
};

struct MuonOptions {
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;
  LrAdjustment lr_adjustment = LrAdjustment::match_rms_adamw;
  ops::NewtonSchulzOptions newton_schulz;
  // What the iteration computes in. bf16 is what torch.optim.Muon does; it is slower where the CPU has no bf16
  // arithmetic.
  torch::ScalarType iteration_type = torch::kFloat32;
};

// One matrix of the network: {w} when it is real, {a, b} when it is a tied pair.
using MuonMatrix = std::vector<torch::Tensor>;

class Muon {
 public:
  // Throws Error unless every matrix has one or two parts, each 2-D, the two of a pair of one shape.
  Muon(std::vector<MuonMatrix> matrices, const MuonOptions& options);

  // Updates every matrix in place from the .grad() of its parts. A matrix without a gradient is left alone.
  // Throws Error if only one part of a pair has one.
  void step(double lr);

  // The same for the matrices from `first` up to `end`. REQUIRES: first <= end <= matrices().size().
  void step(double lr, std::size_t first, std::size_t end);

  // The momentum buffer of each part of each matrix, zero before the first step. They are the whole state: what is
  // copied into them is restored.
  const std::vector<MuonMatrix>& momentum() const { return momentum_; }
  const std::vector<MuonMatrix>& matrices() const { return matrices_; }

 private:
  // Of one thread, kept between steps.
  struct Workspace {
    ops::NewtonSchulzWorkspace updates;
    ops::NewtonSchulzWorkspace iteration;
  };

  bool takes_fused_path(std::size_t i) const;
  void update(std::size_t i, double lr);
  void update_fused(std::vector<std::size_t> which, double lr);
  void update_fused_matrix(std::size_t i, double lr, Workspace& workspace);

  std::vector<MuonMatrix> matrices_;
  std::vector<MuonMatrix> momentum_;
  MuonOptions options_;
  std::vector<Workspace> workspaces_;
};

// The factor on the learning rate of a matrix with these parts; that of a pair is the factor of its expanded matrix.
double lr_factor(const MuonMatrix& matrix, LrAdjustment adjustment);

// How long an update takes beside others: a pair less than the dense matrix it stands for.
double update_cost(const MuonMatrix& matrix);

}  // namespace crope::optim
