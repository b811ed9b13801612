// Muon: momentum, orthogonalised by Newton-Schulz (docs/mathematics.md, section 6). On real matrices it is
// torch.optim.Muon step for step; a tied pair is orthogonalised as one complex matrix.
#pragma once

#include <torch/types.h>

#include <vector>

#include "crope/base/choice.h"
#include "crope/ops/newton_schulz.h"

namespace crope::optim {

// How the learning rate follows the shape [R, C] of the matrix.
enum class LrAdjustment {
  original,         // sqrt(max(1, R/C))
  match_rms_adamw,  // 0.2 sqrt(max(R, C)): updates as large as AdamW's, so that its learning rates carry over
};

}  // namespace crope::optim

template <>
struct crope::ChoiceNames<crope::optim::LrAdjustment> {
  using Kind = optim::LrAdjustment;
  static constexpr auto kNames =
      choice_names<Kind>({{Kind::match_rms_adamw, "match_rms_adamw"}, {Kind::original, "original"}});
};

namespace crope::optim {

struct MuonOptions {
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;
  LrAdjustment lr_adjustment = LrAdjustment::match_rms_adamw;
  ops::NewtonSchulzOptions newton_schulz;
  // Number type of the iteration. torch.optim.Muon takes bf16, which is slower where the CPU has no bf16 arithmetic.
  torch::ScalarType iteration_type = torch::kFloat32;
};

// One matrix of the network. Its parts are {w} when it is real and {a, b} when it is a tied pair.
struct MuonMatrix {
  std::vector<torch::Tensor> parts;
  // The four blocks of w[2M, 2N], re and im by re and im in halves, are orthogonalised as four matrices [M, N]. What an
  // untied BlockLinear with four separate entries gives Muon. Only for a real matrix.
  bool in_quarters = false;

  bool is_pair() const { return parts.size() == 2; }
};

class Muon {
 public:
  // Throws Error unless every matrix has one or two parts, each 2-D, the two of a pair of one shape, and those in
  // quarters have one part of even sizes.
  Muon(std::vector<MuonMatrix> matrices, const MuonOptions& options);

  // Updates every matrix in place from the .grad() of its parts. A matrix without a gradient is left alone.
  // Throws Error if only one part of a pair has one.
  void step(double lr);

  // Updates the matrices from `first` up to `end` alone. REQUIRES: first <= end <= matrices().size().
  void step(double lr, std::size_t first, std::size_t end);

  // The momentum buffer of each part of each matrix, zero before the first step. They are the whole state: what is
  // copied into them is restored.
  const std::vector<std::vector<torch::Tensor>>& momentum() const { return momentum_; }
  const std::vector<MuonMatrix>& matrices() const { return matrices_; }

 private:
  void update(std::size_t i, double lr);
  void update_together(const std::vector<std::size_t>& places, double lr);

  std::vector<MuonMatrix> matrices_;
  std::vector<std::vector<torch::Tensor>> momentum_;
  MuonOptions options_;
};

// The factor on the learning rate of a matrix. A pair has the factor of its expanded matrix, a matrix in quarters that
// of one quarter.
double lr_factor(const MuonMatrix& matrix, LrAdjustment adjustment);

// How long an update takes beside others: a pair less than the dense matrix it stands for.
double update_cost(const MuonMatrix& matrix);

}  // namespace crope::optim
