#include "crope/interop/hf_export.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/random.h"
#include "crope/interop/hf_config.h"
#include "crope/interop/hf_import.h"
#include "crope/interop/hf_layout.h"
#include "crope/interop/hf_tokenizer.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/model/tensor_file.h"
#include "crope/ops/block_linear.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using model::Transformer;
using torch::Tensor;

std::string hf_dtype_name(torch::ScalarType type) {
  switch (type) {
    case torch::kBFloat16:
      return "bfloat16";
    case torch::kFloat16:
      return "float16";
    default:
      return "float32";
  }
}

// The parameter "prefix.ours" of a model on our disk layout, dense: a pair is expanded.
class DenseReader {
 public:
  explicit DenseReader(const Transformer& model) : model_(model) {
    for (const model::Parameter& parameter : model.parameters) by_name_[parameter.spec.name] = &parameter;
  }

  bool contains(const std::string& name) const {
    return by_name_.contains(name + ".weight") || by_name_.contains(name + ".a");
  }

  Tensor read(const std::string& name) const {
    if (const auto found = by_name_.find(name + ".weight"); found != by_name_.end()) {
      return model::halves_to_pairs(found->second->value, found->second->spec.paired_dimensions);
    }
    const ops::ComplexWeight pair{by_name_.at(name + ".a")->value, by_name_.at(name + ".b")->value};
    const std::array<int, 2> both = {0, 1};
    return model::halves_to_pairs(ops::expand(pair), both);
  }

 private:
  const Transformer& model_;
  std::map<std::string, const model::Parameter*> by_name_;
};

std::vector<formats::TensorSource> tensor_sources(const Transformer& model, const DenseReader& reader,
                                                  torch::ScalarType type) {
  std::vector<formats::TensorSource> sources;
  const auto add = [&](const std::string& ours, const std::string& theirs, const HfName& name) {
    if (!reader.contains(ours)) return;
    const auto convert = [&model, &reader, ours, name, type] {
      return to_hf(reader.read(ours), name, model.config).to(type);
    };
    const auto shape = hf_shape(model.config, name);
    sources.push_back({theirs + ".weight", model::element_type(type), shape,
                       [convert](const auto& sink) { model::tensor_source("", convert()).produce(sink); }});
  };
  for (const HfName& name : hf_global_names()) add(name.ours, name.theirs, name);
  for (int64_t layer = 0; layer < model.config.num_layers; ++layer) {
    for (const HfName& name : hf_layer_names()) {
      add(fmt::format("blocks.{}.{}", layer, name.ours), fmt::format("model.layers.{}.{}", layer, name.theirs), name);
    }
  }
  return sources;
}

// Logits of a fixed sequence of random tokens.
Tensor probe(const Transformer& model) {
  const at::NoGradGuard no_grad;
  RandomStream random(0, "export probe");
  std::vector<int64_t> ids;
  for (int64_t t = 0; t < std::min<int64_t>(model.config.max_seq_len, 64); ++t) {
    ids.push_back(static_cast<int64_t>(random.below(static_cast<std::uint64_t>(model.config.vocab_size))));
  }
  return model::logits(model, at::tensor(ids, torch::kInt64).unsqueeze(0));
}

// What rounding alone may do: fp32 sums in another order, or weights of fewer bits.
double tolerance(torch::ScalarType type) {
  switch (type) {
    case torch::kBFloat16:
      return 0.2;
    case torch::kFloat16:
      return 0.02;
    default:
      return 1e-4;
  }
}

}  // namespace

ExportReport export_hf(const fs::path& model_dir, const fs::path& out, torch::ScalarType type, Log& log) {
  const fs::path source = model::resolve_model_dir(model_dir);
  AtomicDirectory directory(out);
  Tensor expected;
  {
    // In a scope of its own: the copy that is checked below takes the place of this one.
    const Transformer model = model::load_model(source, log);
    const DenseReader reader(model);
    const fs::path tokenizer = source / "tokenizer.json";
    const SpecialTokens special = fs::exists(tokenizer)
                                      ? copy_tokenizer(tokenizer, directory.working_path(), model.config.max_seq_len)
                                      : SpecialTokens{};
    write_json(directory.working_path() / "config.json", hf_config_from(model.config, hf_dtype_name(type), special));
    formats::write_safetensors(directory.working_path() / "model.safetensors", tensor_sources(model, reader, type));
    expected = probe(model);
  }
  const Tensor got = probe(load_hf_model(directory.working_path(), log));
  const ExportReport report{.directory = out,
                            .largest_difference = (got - expected).abs().max().item<double>(),
                            .largest_logit = expected.abs().max().item<double>()};
  if (!(report.largest_difference <= tolerance(type) * std::max(1.0, report.largest_logit))) {
    throw Error(fmt::format("the export of {} differs from it: logits by {} (they go up to {})", model_dir.string(),
                            report.largest_difference, report.largest_logit),
                "nothing was written; if the weights are not finite, export an earlier checkpoint");
  }
  directory.commit();
  return report;
}

}  // namespace crope::interop
