// The optimiser of a model: Muon on its matrices, AdamW on the rest, by the roles of the parameters.
//
// Its work and its state are dealt out among the ranks of a group: a matrix or tied pair belongs to one rank, a stretch
// of the embedding's rows to each; gains are every rank's. The owner updates a parameter and sends it to the others
// while it computes the next.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "crope/base/choice.h"
#include "crope/dist/process_group.h"
#include "crope/model/transformer.h"
#include "crope/optim/adamw.h"
#include "crope/optim/muon.h"

namespace crope::train {

// How Muon treats a tied pair. The tie holds in both: a and b are the parameters.
enum class TiedPairs {
  complex,   // one complex matrix, at the scale of a dense one
  separate,  // two real matrices
};

// How Muon treats an untied attention projection.
enum class DenseProjections {
  whole,     // one matrix
  quarters,  // four: the blocks of real and imaginary rows and columns
};

}  // namespace crope::train

template <>
struct crope::ChoiceNames<crope::train::TiedPairs> {
  using Kind = train::TiedPairs;
  static constexpr auto kNames = choice_names<Kind>({{Kind::complex, "complex"}, {Kind::separate, "separate"}});
};

template <>
struct crope::ChoiceNames<crope::train::DenseProjections> {
  using Kind = train::DenseProjections;
  static constexpr auto kNames = choice_names<Kind>({{Kind::whole, "whole"}, {Kind::quarters, "quarters"}});
};

namespace crope::train {

struct OptimizerOptions {
  optim::MuonOptions muon;
  optim::AdamwOptions adamw;
  double embedding_weight_decay = 0.1;  // gains have none
  TiedPairs tied_pairs = TiedPairs::complex;
  DenseProjections dense_projections = DenseProjections::whole;
};

// A tensor of the optimiser's state under a name made of its parameter's: "muon.momentum.blocks.0.attention.q.a". This
// rank may hold some of its rows only.
struct NamedState {
  std::string name;
  torch::Tensor value;              // the rows of this rank, shared with the optimiser: copy into it to restore
  std::vector<std::int64_t> shape;  // of the whole tensor
  std::int64_t first_row = 0;       // of value in it
  bool is_saved_here = true;        // false where another rank holds the same and saves it
};

// A tensor of the state as all ranks together hold it.
struct StateShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

class Optimizer {
 public:
  // Keeps the parameters' tensors; the model's gradients are read from them.
  Optimizer(const model::Transformer& model, const OptimizerOptions& options = {},
            std::shared_ptr<dist::ProcessGroup> group = dist::world_of_one());

  // One update of every parameter from its .grad(), which is the same on every rank; so are the parameters afterwards.
  // Throws Error if another rank has gone.
  void step(double lr);

  std::vector<NamedState> state() const;        // of this rank
  std::vector<StateShape> whole_state() const;  // of all
  std::uint64_t state_bytes() const;            // of this rank
  std::int64_t steps() const { return adamw_.steps(); }
  void set_steps(std::int64_t steps) { adamw_.set_steps(steps); }

 private:
  // A matrix of some rank's, and its place among that rank's.
  struct Turn {
    std::size_t place;
    int owner;
    std::size_t matrix;
  };
  // A parameter of AdamW's, and the rows of it that are this rank's.
  struct Rows {
    torch::Tensor parameter;
    torch::Tensor mine;  // shares the parameter's memory
    std::int64_t first = 0;
    bool is_dealt = false;
  };

  static std::vector<Rows> deal_rows(const model::Transformer& model, const dist::ProcessGroup& group);
  std::vector<optim::MuonMatrix> own_matrices() const;
  std::vector<optim::AdamwTensor> own_rows(double embedding_weight_decay) const;
  void step_rows(double lr, std::vector<dist::Pending>& sent);
  void step_matrices(double lr, std::vector<dist::Pending>& sent);
  void share_matrices();

  std::shared_ptr<dist::ProcessGroup> group_;
  std::vector<optim::MuonMatrix> matrices_;             // of all ranks
  std::vector<std::vector<std::string>> matrix_names_;  // of the parts of each
  std::vector<int> owners_;                             // of each
  std::vector<Turn> turns_;                             // the order in which matrices are sent
  std::vector<Rows> rows_;
  std::vector<std::string> row_names_;
  optim::Muon muon_;    // on this rank's matrices
  optim::Adamw adamw_;  // on this rank's rows
};

}  // namespace crope::train
