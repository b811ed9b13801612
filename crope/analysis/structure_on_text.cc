#include "crope/analysis/structure_on_text.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "crope/base/error.h"
#include "crope/base/progress.h"
#include "crope/model/complex_structure.h"
#include "crope/model/folded_gains.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

constexpr const char* kProjections = "qkv";

std::size_t place_of(char projection) {
  return std::string_view(kProjections).find(projection);
}

// Frequencies [first, end) of F.
struct Band {
  std::int64_t first, end, F;
};

Band band_of(int quarter, std::int64_t F) {
  if (quarter == static_cast<int>(kQuarters)) return {0, F, F};
  const auto index = static_cast<std::size_t>(quarter);
  return {first_frequency(index, F), first_frequency(index + 1, F), F};
}

// Rows [2M, ...] with one dimension for the frequencies: [2, heads, F, ...]. A view.
Tensor by_frequency(const Tensor& rows, std::int64_t F) {
  std::vector<int64_t> sizes = {2, -1, F};
  if (rows.dim() > 1) sizes.push_back(rows.size(1));
  return rows.view(sizes);
}

// The same network with the gains of attention_norm in Q, K and V. What reads `parameters` must not see it.
model::Transformer without_input_gains(const model::Transformer& model) {
  model::Transformer folded = model;
  folded.parameters.clear();
  for (std::size_t i = 0; i < folded.blocks.size(); ++i) {
    model::Block& block = folded.blocks[i];
    for (const char projection : std::string_view(kProjections)) {
      const auto gains = model::surrounding_gains(model, static_cast<std::int64_t>(i), projection);
      ops::Weight& weight = block.attention.qkv[place_of(projection)];
      weight = ops::DenseWeight{
          model::fold_gains(ops::dense_matrix(weight), {.input = gains.input, .head = {}}).to(at::kFloat)};
    }
    block.attention_norm = at::ones({model.config.d_model}, at::kFloat);
  }
  return folded;
}

// Of one row for each output: its gain, or 1; and 1 / gain, or 0 where the gain is 0 and nothing comes through.
struct RowGains {
  Tensor gain, inverse;  // [2M, 1] in fp64
};

RowGains row_gains(const model::Transformer& model, std::int64_t layer, char projection, std::int64_t rows) {
  const Tensor head = model::surrounding_gains(model, layer, projection).head;
  const Tensor gain = model::fold_gains(at::ones({rows, 1}, at::kDouble), {.input = {}, .head = head});
  return {gain, at::where(gain == 0, at::zeros_like(gain), gain.reciprocal())};
}

const StructureOfProjections& structure_of(const std::vector<StructureOfProjections>& structures, char projection) {
  const auto found = std::ranges::find(structures, std::string(1, projection), &StructureOfProjections::projections);
  if (found == structures.end()) throw Error(fmt::format("structure_on_text: no structure of {}", projection));
  return *found;
}

const Tensor& structure_for_layer(const StructureOfProjections& of, std::int64_t layer) {
  return of.of_parity[static_cast<std::size_t>(1 - layer % 2)];
}

struct Removed {
  model::Transformer model;
  double share;  // of the energy of the rows concerned
};

// The J[D, D] of a layer.
using Structure = std::function<Tensor(std::int64_t layer)>;

Removed without_conjugate_part(const model::Transformer& folded, char projection, const Band& band,
                               const Structure& structure) {
  Removed result{folded, 0};
  double removed = 0, total = 0;
  for (std::int64_t layer = 0; layer < folded.config.num_layers; ++layer) {
    ops::Weight& weight = result.model.blocks[static_cast<std::size_t>(layer)].attention.qkv[place_of(projection)];
    const Tensor stored = ops::dense_matrix(weight).to(at::kDouble);
    const RowGains gains = row_gains(folded, layer, projection, stored.size(0));
    const Tensor matrix = stored * gains.gain;
    const Tensor linear = model::complex_linear_part(matrix, structure(layer));
    const auto rows = [&](const Tensor& x) {
      return by_frequency(x, band.F).narrow(2, band.first, band.end - band.first);
    };
    removed += rows(matrix - linear).square().sum().item<double>();
    total += rows(matrix).square().sum().item<double>();
    const Tensor changed = stored.clone();
    rows(changed).copy_(rows(linear * gains.inverse));
    weight = ops::DenseWeight{changed.to(at::kFloat)};
  }
  result.share = total > 0 ? removed / total : 0;
  return result;
}

std::vector<Tensor> windows_of(const std::vector<std::int32_t>& ids, std::int64_t max_seq_len,
                               const TextOptions& options) {
  const auto count = std::min(static_cast<std::int64_t>(ids.size()), options.tokens + 1);
  const Tensor all = at::tensor(ids, at::kInt).to(at::kLong);
  const std::int64_t window = std::min(options.window, max_seq_len);
  std::vector<Tensor> windows;
  // The last token of a window is predicted but not fed, and begins the next.
  for (std::int64_t first = 0; first + 1 < count; first += window) {
    windows.push_back(all.narrow(0, first, std::min(window + 1, count - first)));
  }
  return windows;
}

Tensor losses_of(const model::Transformer& model, const std::vector<Tensor>& windows) {
  std::vector<Tensor> losses;
  for (const Tensor& window : windows) losses.push_back(model::token_losses(model, window).to(at::kDouble));
  return at::cat(losses);
}

LossDifference difference(const Tensor& losses, const Tensor& base) {
  const Tensor d = losses - base;
  const auto n = static_cast<double>(d.numel());
  return {.mean = d.mean().item<double>(), .error = n < 2 ? 0 : d.std().item<double>() / std::sqrt(n)};
}

// Energies of the two parts of a projection's outputs, by layer and frequency.
struct PartEnergies {
  std::vector<Tensor> linear, conjugate;  // [F]
};

class EnergyMeter {
 public:
  EnergyMeter(const model::Transformer& folded, const StructureOfProjections& of, char projection, std::int64_t F)
      : place_(place_of(projection)), F_(F) {
    for (std::int64_t layer = 0; layer < folded.config.num_layers; ++layer) {
      const ops::Weight& weight = folded.blocks[static_cast<std::size_t>(layer)].attention.qkv[place_];
      const Tensor stored = ops::dense_matrix(weight);
      const Tensor matrix = stored * row_gains(folded, layer, projection, stored.size(0)).gain;
      const Tensor linear = model::complex_linear_part(matrix, structure_for_layer(of, layer));
      linear_.push_back(linear.to(at::kFloat));
      conjugate_.push_back((matrix - linear).to(at::kFloat));
      energies_.linear.push_back(at::zeros({F}, at::kDouble));
      energies_.conjugate.push_back(at::zeros({F}, at::kDouble));
    }
  }

  // x[T, D]: what the projection of a layer reads.
  void add(std::size_t layer, const Tensor& x) {
    const auto energy = [&](const Tensor& matrix) {
      return by_frequency(x.mm(matrix.t()).square().sum(0, false, at::kDouble), F_).sum({0, 1});
    };
    energies_.linear[layer] += energy(linear_[layer]);
    energies_.conjugate[layer] += energy(conjugate_[layer]);
  }

  ProjectionOnText result(char projection) const {
    ProjectionOnText result{.projection = projection};
    const auto layers = static_cast<double>(linear_.size());
    for (std::size_t i = 0; i < linear_.size(); ++i) {
      TextShare share{.layer = static_cast<std::int64_t>(i), .all = share_of(i, band_of(kQuarters, F_))};
      result.all += share.all / layers;
      for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
        share.by_quarter[quarter] = share_of(i, band_of(static_cast<int>(quarter), F_));
        result.by_quarter[quarter] += share.by_quarter[quarter] / layers;
      }
      result.layers.push_back(share);
    }
    return result;
  }

 private:
  double share_of(std::size_t layer, const Band& band) const {
    const auto sum = [&](const Tensor& x) {
      return x.narrow(0, band.first, band.end - band.first).sum().item<double>();
    };
    const double conjugate = sum(energies_.conjugate[layer]), total = conjugate + sum(energies_.linear[layer]);
    return total > 0 ? conjugate / total : 0.5;
  }

  std::size_t place_;
  std::int64_t F_;
  std::vector<Tensor> linear_, conjugate_;
  PartEnergies energies_;
};

}  // namespace

StructureOnText structure_on_text(const model::Transformer& model,
                                  const std::vector<StructureOfProjections>& structures,
                                  const std::vector<std::int32_t>& ids, const TextOptions& options, Log& log) {
  const at::NoGradGuard no_grad;
  if (model.config.num_layers < 2) {
    throw UsageError("a model of one layer: no other layer can tell the complex structure that it is measured with");
  }
  const std::vector<Tensor> windows = windows_of(ids, model.config.max_seq_len, options);
  if (windows.empty()) throw UsageError(fmt::format("a text of {} tokens: expected at least 2", ids.size()));
  const model::Transformer folded = without_input_gains(model);
  const std::int64_t qk_frequencies = model.config.qk_width() / 2;
  StructureOnText result;

  std::vector<EnergyMeter> meters;
  for (const char projection : std::string_view(kProjections)) {
    meters.emplace_back(folded, structure_of(structures, projection), projection,
                        projection == 'v' ? model.config.v_width() / 2 : qk_frequencies);
  }
  for (const Tensor& window : windows) {
    const Tensor fed = window.narrow(0, 0, window.size(0) - 1).unsqueeze(0);
    model::visit_layer_inputs(folded, fed, [&](std::int64_t layer, const model::LayerInput& input) {
      for (EnergyMeter& meter : meters) meter.add(static_cast<std::size_t>(layer), input.x.squeeze(0));
    });
  }
  for (std::size_t i = 0; i < meters.size(); ++i) result.projections.push_back(meters[i].result(kProjections[i]));

  const Tensor base = losses_of(folded, windows);
  result.tokens = base.numel();
  result.loss = base.mean().item<double>();
  const Tensor random = random_structure(model.config.d_model, options.seed);
  constexpr int kBands = static_cast<int>(kQuarters) + 1;
  Progress progress(log, {.label = "remove", .unit = "bands", .total = 2 * kBands});
  std::uint64_t done = 0;
  for (const char projection : {'q', 'k'}) {
    const StructureOfProjections& of = structure_of(structures, projection);
    for (int quarter = 0; quarter < kBands; ++quarter) {
      const Band band = band_of(quarter, qk_frequencies);
      const Removed found = without_conjugate_part(folded, projection, band,
                                                   [&](std::int64_t layer) { return structure_for_layer(of, layer); });
      const Removed by_chance = without_conjugate_part(folded, projection, band, [&](std::int64_t) { return random; });
      result.removals.push_back({.projection = projection,
                                 .quarter = quarter,
                                 .removed = found.share,
                                 .loss = difference(losses_of(found.model, windows), base),
                                 .removed_at_random = by_chance.share,
                                 .loss_at_random = difference(losses_of(by_chance.model, windows), base)});
      progress.update(++done);
    }
  }
  return result;
}

}  // namespace crope::analysis
