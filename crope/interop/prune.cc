#include "crope/interop/prune.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/model/block_trace.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/model/text_rows.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using model::Parameter;
using model::Transformer;
using torch::Tensor;

constexpr std::array<int, 1> kColumns = {1};

void check_options(const PruneOptions& options) {
  if (!(options.sparsity >= 0 && options.sparsity < 1)) {
    throw UsageError(fmt::format("sparsity: expected a number from 0 to less than 1, got {}", options.sparsity));
  }
  if (options.structure == PruneStructure::two_of_four && options.sparsity != 0.5) {
    throw UsageError(fmt::format("structure 2:4 drops half of the weights, but sparsity is {}", options.sparsity),
                     "set sparsity to 0.5");
  }
}

// 1 for every score of [G, n] but the `count` smallest of each row, 0 for those; of equal ones the first are dropped.
Tensor without_smallest(const Tensor& score, int64_t count) {
  const Tensor order = at::argsort(score, /*stable=*/true, -1, /*descending=*/false);
  return at::ones_like(score).scatter_(1, order.narrow(1, 0, count), 0.0);
}

// Which of the scores [R, C] stay: 1 or 0. Whole rows compete where the inputs are known, else the whole matrix.
Tensor kept_entries(const Tensor& score, const PruneOptions& options, bool by_rows) {
  if (options.structure == PruneStructure::two_of_four) {
    return without_smallest(score.reshape({-1, 4}), 2).view(score.sizes());
  }
  const Tensor groups = by_rows ? score : score.reshape({1, -1});
  const auto count = static_cast<int64_t>(std::llround(options.sparsity * static_cast<double>(groups.size(1))));
  return without_smallest(groups, count).view(score.sizes());
}

// The size of what each column multiplies: sqrt of the sum of squares over all rows of text, [in], in halves.
class InputSize {
 public:
  void add(const Tensor& x) {
    const Tensor squares = x.flatten(0, -2).to(torch::kFloat64).square().sum(0);
    sum_ = sum_.defined() ? sum_ + squares : squares;
  }

  bool is_known() const { return sum_.defined(); }
  Tensor of_columns() const { return sum_.sqrt(); }

  // Of complex inputs: [in / 2].
  Tensor of_pairs() const { return (sum_.chunk(2)[0] + sum_.chunk(2)[1]).sqrt(); }

 private:
  Tensor sum_;
};

void prune_dense(const Parameter& parameter, const PruneOptions& options, const InputSize& inputs) {
  Tensor score = parameter.value.to(torch::kFloat64).abs();
  if (inputs.is_known()) score = score * inputs.of_columns();
  // Neighbours are what files call so.
  const bool reorders =
      std::ranges::find(parameter.spec.paired_dimensions, 1) != parameter.spec.paired_dimensions.end();
  if (reorders) score = model::halves_to_pairs(score, kColumns);
  Tensor kept = kept_entries(score, options, inputs.is_known());
  if (reorders) kept = model::pairs_to_halves(kept, kColumns);
  parameter.value.mul_(kept.to(parameter.value.scalar_type()));
}

void prune_pair(const Parameter& first, const Parameter& second, const PruneOptions& options, const InputSize& inputs) {
  const Tensor a = first.value.to(torch::kFloat64), b = second.value.to(torch::kFloat64);
  const auto weighted = [&](const Tensor& size) { return inputs.is_known() ? size * inputs.of_pairs() : size; };
  std::array<Tensor, 2> kept;
  if (options.pairs == PrunedPairs::complex) {
    kept[0] = kept[1] = kept_entries(weighted(at::hypot(a, b)), options, inputs.is_known());
  } else {
    const Tensor both = kept_entries(at::cat({weighted(a.abs()), weighted(b.abs())}, 1), options, inputs.is_known());
    kept = {both.chunk(2, 1)[0], both.chunk(2, 1)[1]};
  }
  first.value.mul_(kept[0].to(first.value.scalar_type()));
  second.value.mul_(kept[1].to(second.value.scalar_type()));
}

// The inputs of a layer's projections over the calibration text.
struct LayerInputs {
  InputSize attention, o, feed_forward, down;

  const InputSize& of(std::string_view name) const {
    if (name.find(".attention.o.") != name.npos) return o;
    if (name.find(".attention.") != name.npos) return attention;
    return name.find(".down.") != name.npos ? down : feed_forward;
  }
};

LayerInputs measure_inputs(const Transformer& model, int64_t layer, std::span<const Tensor> streams) {
  LayerInputs inputs;
  for (const Tensor& h : streams) {
    const model::BlockTrace trace = model::trace_block(model, layer, h);
    inputs.attention.add(trace.attention_input);
    inputs.o.add(trace.o_input);
    inputs.feed_forward.add(trace.feed_forward_input);
    inputs.down.add(trace.down_input);
  }
  return inputs;
}

bool is_pruned(const Parameter& parameter) {
  return parameter.spec.role == model::Role::matrix || parameter.spec.role == model::Role::pair_a ||
         parameter.spec.role == model::Role::pair_b;
}

void check_widths(const Transformer& model, const PruneOptions& options) {
  if (options.structure != PruneStructure::two_of_four) return;
  for (const Parameter& parameter : model.parameters) {
    if (!is_pruned(parameter) || parameter.value.size(1) % 4 == 0) continue;
    throw UsageError(fmt::format("structure 2:4: {} has rows of {}, which 4 does not divide", parameter.spec.name,
                                 parameter.value.size(1)),
                     "choose the structure 'unstructured'");
  }
}

// "attention.q" of "blocks.3.attention.q.conjugate_a".
std::string kind_of(const std::string& parameter) {
  constexpr std::string_view kBlocks = "blocks.";
  const std::size_t begin = parameter.find('.', kBlocks.size()) + 1;
  return parameter.substr(begin, parameter.rfind('.') - begin);
}

std::vector<PrunedKind> summarise(const Transformer& before, const Transformer& after) {
  std::vector<PrunedKind> kinds;
  std::vector<double> sizes;
  for (std::size_t i = 0; i < before.parameters.size(); ++i) {
    if (!is_pruned(before.parameters[i])) continue;
    const std::string name = kind_of(before.parameters[i].spec.name);
    auto kind = std::ranges::find(kinds, name, &PrunedKind::name);
    if (kind == kinds.end()) {
      kinds.push_back({.name = name});
      sizes.push_back(0);
      kind = std::prev(kinds.end());
    }
    const Tensor& old = before.parameters[i].value;
    const Tensor& pruned = after.parameters[i].value;
    kind->numbers += pruned.numel();
    kind->zeros += (pruned == 0).sum().item<int64_t>();
    kind->kept_energy += pruned.to(torch::kFloat64).square().sum().item<double>();
    sizes[static_cast<std::size_t>(kind - kinds.begin())] += old.to(torch::kFloat64).square().sum().item<double>();
  }
  for (std::size_t k = 0; k < kinds.size(); ++k)
    kinds[k].kept_energy = sizes[k] > 0 ? kinds[k].kept_energy / sizes[k] : 1;
  return kinds;
}

}  // namespace

PrunedModel prune(const Transformer& model, const PruneOptions& options, std::span<const Tensor> calibration) {
  const at::NoGradGuard no_grad;
  check_options(options);
  check_widths(model, options);
  std::vector<Tensor> values;
  for (const Parameter& parameter : model.parameters) values.push_back(parameter.value.detach().clone());
  PrunedModel result{.model = model::make_transformer(model.config, values), .kinds = {}};
  std::vector<Tensor> streams;
  for (const Tensor& row : calibration) streams.push_back(model::embed(result.model, row));
  for (int64_t layer = 0; layer < model.config.num_layers; ++layer) {
    throw_if_interrupted();
    const LayerInputs inputs = measure_inputs(result.model, layer, streams);
    const std::string prefix = fmt::format("blocks.{}.", layer);
    const std::vector<Parameter>& parameters = result.model.parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string& name = parameters[i].spec.name;
      if (!name.starts_with(prefix)) continue;
      if (parameters[i].spec.role == model::Role::matrix) prune_dense(parameters[i], options, inputs.of(name));
      if (parameters[i].spec.role == model::Role::pair_a) {
        prune_pair(parameters[i], parameters[i + 1], options, inputs.of(name));
      }
    }
    for (Tensor& h : streams) h = model::trace_block(result.model, layer, h).output;
  }
  result.kinds = summarise(model, result.model);
  return result;
}

std::vector<PrunedKind> prune_directory(const fs::path& model_dir, const fs::path& out, const PruneOptions& options,
                                        const fs::path& calibration, Log& log) {
  check_options(options);
  const fs::path source = model::resolve_model_dir(model_dir);
  AtomicDirectory directory(out);
  const model::LanguageModel dense = model::load_language_model(source, log);
  std::vector<Tensor> rows;
  if (!calibration.empty()) rows = model::text_rows(dense, calibration);
  PrunedModel pruned = prune(dense.model, options, rows);
  pruned.model.config.other_keys["pruned"] = {{"sparsity", options.sparsity},
                                              {"structure", options.structure.name()},
                                              {"pairs", options.pairs.name()},
                                              {"rule", rows.empty() ? "magnitude" : "wanda"}};
  model::save_model_files(pruned.model, directory.working_path());
  model::copy_text_files(source, directory.working_path());
  directory.commit();
  return pruned.kinds;
}

}  // namespace crope::interop
