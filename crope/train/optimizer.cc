#include "crope/train/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <tuple>

#include "crope/dist/deal.h"
#include "crope/ops/device.h"

namespace crope::train {
namespace {

using model::Parameter;
using model::Role;
using torch::Tensor;

bool is_matrix(Role role) {
  return role == Role::matrix || role == Role::pair_a || role == Role::pair_b;
}

struct MatrixList {
  std::vector<optim::MuonMatrix> matrices;
  std::vector<std::vector<std::string>> names;
};

// A pair's b follows its a in the list of parameters.
MatrixList list_matrices(const std::vector<Parameter>& parameters, const OptimizerOptions& options) {
  MatrixList list;
  for (const Parameter& parameter : parameters) {
    if (!is_matrix(parameter.spec.role)) continue;
    const bool begins = parameter.spec.role != Role::pair_b || options.tied_pairs != TiedPairs::complex;
    if (begins) {
      const bool is_untied_projection =
          parameter.spec.role == Role::matrix && parameter.spec.component == model::Component::attention;
      list.matrices.push_back(
          {.in_quarters = is_untied_projection && options.dense_projections == DenseProjections::quarters});
      list.names.emplace_back();
    }
    list.matrices.back().parts.push_back(parameter.value);
    list.names.back().push_back(parameter.spec.name);
  }
  return list;
}

std::vector<std::string> names_of_rows(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) {
    if (!is_matrix(parameter.spec.role)) names.push_back(parameter.spec.name);
  }
  return names;
}

std::vector<int> deal_matrices(const std::vector<optim::MuonMatrix>& matrices, int ranks) {
  std::vector<double> costs;
  for (const optim::MuonMatrix& matrix : matrices) costs.push_back(optim::update_cost(matrix));
  return dist::deal(costs, ranks);
}

}  // namespace

Optimizer::Optimizer(const model::Transformer& model, const OptimizerOptions& options,
                     std::shared_ptr<dist::ProcessGroup> group)
    : group_(std::move(group)),
      matrices_(list_matrices(model.parameters, options).matrices),
      matrix_names_(list_matrices(model.parameters, options).names),
      owners_(deal_matrices(matrices_, group_->size())),
      rows_(deal_rows(model, *group_)),
      row_names_(names_of_rows(model.parameters)),
      muon_(own_matrices(), options.muon),
      adamw_(own_rows(options.embedding_weight_decay), options.adamw) {
  std::vector<std::size_t> places(static_cast<std::size_t>(group_->size()), 0);
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    turns_.push_back({.place = places[static_cast<std::size_t>(owners_[i])]++, .owner = owners_[i], .matrix = i});
  }
  std::ranges::sort(turns_, {}, [](const Turn& turn) { return std::tuple(turn.place, turn.owner); });
}

std::vector<Optimizer::Rows> Optimizer::deal_rows(const model::Transformer& model, const dist::ProcessGroup& group) {
  std::vector<Rows> list;
  for (const Parameter& parameter : model.parameters) {
    if (is_matrix(parameter.spec.role)) continue;
    Rows rows{.parameter = parameter.value, .mine = parameter.value.detach()};
    if (parameter.spec.role == Role::embedding && group.size() > 1) {
      const auto [first, count] = dist::stretch_of(parameter.value.size(0), group.rank(), group.size());
      rows.mine = rows.mine.narrow(0, first, count);
      rows.first = first;
      rows.is_dealt = true;
    }
    list.push_back(std::move(rows));
  }
  return list;
}

std::vector<optim::MuonMatrix> Optimizer::own_matrices() const {
  std::vector<optim::MuonMatrix> own;
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    if (owners_[i] == group_->rank()) own.push_back(matrices_[i]);
  }
  return own;
}

std::vector<optim::AdamwTensor> Optimizer::own_rows(double embedding_weight_decay) const {
  std::vector<optim::AdamwTensor> own;
  for (const Rows& rows : rows_) own.push_back({rows.mine, rows.parameter.dim() == 1 ? 0 : embedding_weight_decay});
  return own;
}

void Optimizer::step(double lr) {
  std::vector<dist::Pending> sent;
  step_rows(lr, sent);
  step_matrices(lr, sent);
  for (dist::Pending& each : sent) each.wait();
}

void Optimizer::step_rows(double lr, std::vector<dist::Pending>& sent) {
  for (Rows& rows : rows_) {
    const Tensor& grad = rows.parameter.grad();
    rows.mine.mutable_grad() = grad.defined() ? grad.narrow(0, rows.first, rows.mine.size(0)) : Tensor();
  }
  adamw_.step(lr);
  for (Rows& rows : rows_) {
    rows.mine.mutable_grad() = Tensor();
    if (!rows.is_dealt) continue;
    const Tensor whole = rows.parameter.detach();
    for (int owner = 0; owner < group_->size(); ++owner) {
      const auto [first, count] = dist::stretch_of(whole.size(0), owner, group_->size());
      if (count > 0) sent.push_back(group_->broadcast(whole.narrow(0, first, count), owner));
    }
  }
}

// The order of sending is that of turns_ on every rank; how many matrices a rank computes before it sends again is its
// own affair.
void Optimizer::step_matrices(double lr, std::vector<dist::Pending>& sent) {
  if (matrices_.empty()) return;
  if (ops::prefers_few_launches(matrices_.front().parts.front())) {
    muon_.step(lr);
    if (group_->size() > 1) share_matrices();
    return;
  }
  const std::size_t mine = muon_.matrices().size();
  const std::size_t at_once =
      group_->size() == 1 ? std::max<std::size_t>(1, mine) : 2 * static_cast<std::size_t>(at::get_num_threads());
  auto turn = turns_.begin();
  std::size_t done = 0;
  do {
    const std::size_t end = std::min(done + at_once, mine);
    muon_.step(lr, done, end);
    done = end;
    if (group_->size() == 1) continue;
    for (; turn != turns_.end() && (done == mine || turn->place < done); ++turn) {
      for (const Tensor& part : matrices_[turn->matrix].parts) {
        sent.push_back(group_->broadcast(part.detach(), turn->owner));
      }
    }
  } while (done < mine);
}

// Every matrix of a rank in one broadcast: a message per matrix costs launches.
void Optimizer::share_matrices() {
  const at::NoGradGuard no_grad;
  std::vector<dist::Pending> sent;
  std::vector<std::vector<Tensor>> parts(static_cast<std::size_t>(group_->size()));
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    for (const Tensor& part : matrices_[i].parts) {
      parts[static_cast<std::size_t>(owners_[i])].push_back(part.detach().view({-1}));
    }
  }
  std::vector<Tensor> messages;
  for (int owner = 0; owner < group_->size(); ++owner) {
    const std::vector<Tensor>& theirs = parts[static_cast<std::size_t>(owner)];
    if (theirs.empty()) continue;
    std::int64_t size = 0;
    for (const Tensor& part : theirs) size += part.size(0);
    messages.push_back(owner == group_->rank() ? at::cat(theirs) : at::empty({size}, theirs.front().options()));
    sent.push_back(group_->broadcast(messages.back(), owner));
  }
  for (dist::Pending& each : sent) each.wait();
  auto message = messages.begin();
  for (int owner = 0; owner < group_->size(); ++owner) {
    const std::vector<Tensor>& theirs = parts[static_cast<std::size_t>(owner)];
    if (theirs.empty()) continue;
    std::vector<std::int64_t> sizes;
    for (const Tensor& part : theirs) sizes.push_back(part.size(0));
    if (owner != group_->rank()) at::_foreach_copy_(theirs, message->split_with_sizes(sizes));
    ++message;
  }
}

std::vector<NamedState> Optimizer::state() const {
  std::vector<NamedState> state;
  auto buffers = muon_.momentum().begin();
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    if (owners_[i] != group_->rank()) continue;
    for (std::size_t part = 0; part < buffers->size(); ++part) {
      const Tensor& buffer = (*buffers)[part];
      state.push_back(
          {.name = "muon.momentum." + matrix_names_[i][part], .value = buffer, .shape = buffer.sizes().vec()});
    }
    ++buffers;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    NamedState first{.name = "adamw.first." + row_names_[i],
                     .value = adamw_.first_moments()[i],
                     .shape = rows_[i].parameter.sizes().vec(),
                     .first_row = rows_[i].first,
                     .is_saved_here = rows_[i].is_dealt || group_->is_first()};
    NamedState second = first;
    second.name = "adamw.second." + row_names_[i];
    second.value = adamw_.second_moments()[i];
    state.push_back(std::move(first));
    state.push_back(std::move(second));
  }
  return state;
}

std::vector<StateShape> Optimizer::whole_state() const {
  std::vector<StateShape> shapes;
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    for (std::size_t part = 0; part < matrices_[i].parts.size(); ++part) {
      shapes.push_back({"muon.momentum." + matrix_names_[i][part], matrices_[i].parts[part].sizes().vec()});
    }
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    shapes.push_back({"adamw.first." + row_names_[i], rows_[i].parameter.sizes().vec()});
    shapes.push_back({"adamw.second." + row_names_[i], rows_[i].parameter.sizes().vec()});
  }
  return shapes;
}

std::uint64_t Optimizer::state_bytes() const {
  std::uint64_t bytes = 0;
  for (const NamedState& state : this->state()) bytes += state.value.nbytes();
  return bytes;
}

}  // namespace crope::train
