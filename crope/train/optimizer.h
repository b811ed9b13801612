// The optimiser of a model: Muon on its matrices, AdamW on the rest, by the roles of the parameters.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "crope/model/transformer.h"
#include "crope/optim/adamw.h"
#include "crope/optim/muon.h"

namespace crope::train {

// What a tied pair is to Muon.
enum class TiedPairs {
  complex,   // one complex matrix: the tie is exact, the scale that of a dense matrix
  separate,  // two real ones
};

struct OptimizerOptions {
  optim::MuonOptions muon;
  optim::AdamwOptions adamw;
  double embedding_weight_decay = 0.1;  // gains have none
  TiedPairs tied_pairs = TiedPairs::complex;
};

// A tensor of the optimiser's state under a name made of its parameter's: "muon.momentum.blocks.0.attention.q.a".
struct NamedState {
  std::string name;
  torch::Tensor value;  // shared with the optimiser: copy into it to restore
};

class Optimizer {
 public:
  // Keeps the parameters' tensors; the model's gradients are read from them.
  Optimizer(const model::Transformer& model, const OptimizerOptions& options = {});

  // One update of every parameter from its .grad().
  void step(double lr);

  std::vector<NamedState> state() const;
  std::int64_t steps() const { return adamw_.steps(); }
  void set_steps(std::int64_t steps) { adamw_.set_steps(steps); }

 private:
  std::vector<std::string> muon_names_;  // of each part of each matrix, in order
  std::vector<std::string> adamw_names_;
  optim::Muon muon_;
  optim::Adamw adamw_;
};

}  // namespace crope::train
