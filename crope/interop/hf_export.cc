#include "crope/interop/hf_export.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// Tensors of a model file, dense and in its own layout of adjacent pairs. One at a time: what has been written is let
// go.
class DenseReader {
 public:
  explicit DenseReader(const fs::path& path) : file_(formats::SafetensorsFile::open(path)) {}

  bool contains(const std::string& name) const {
    return file_.find(name + ".weight") != nullptr || file_.find(name + ".a") != nullptr;
  }

  Tensor read(const std::string& name) const {
    if (file_.find(name + ".weight") != nullptr) return fp32(name + ".weight");
    const ops::ComplexWeight pair{fp32(name + ".a"), fp32(name + ".b")};
    const std::array<int, 2> both = {0, 1};
    return model::halves_to_pairs(ops::expand(pair), both);
  }

  void release() const { file_.mapping()->release(file_.mapping()->bytes()); }

 private:
  Tensor fp32(const std::string& name) const { return model::view_tensor(file_, name).to(torch::kFloat32); }

  formats::SafetensorsFile file_;
};

std::vector<formats::TensorSource> tensor_sources(const model::ModelConfig& config, const DenseReader& reader,
                                                  torch::ScalarType type) {
  std::vector<formats::TensorSource> sources;
  const auto add = [&](const std::string& ours, const std::string& theirs, const HfName& name) {
    if (!reader.contains(ours)) return;
    sources.push_back({theirs + ".weight", model::element_type(type), hf_shape(config, name),
                       [&config, &reader, ours, name, type](const formats::TensorSource::Sink& sink) {
                         const Tensor value = to_hf(reader.read(ours), name, config).to(type);
                         model::tensor_source("", value).produce(sink);
                         reader.release();
                       }});
  };
  for (const HfName& name : hf_global_names()) add(name.ours, name.theirs, name);
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
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
  const model::ModelConfig config = model::load_config(source);
  AtomicDirectory directory(out);
  const fs::path folder = directory.working_path();
  // The model, its tensors on their way, and the copy that is checked: one after the other, never two at a time.
  const Tensor expected = probe(model::load_model(source, log));
  {
    const fs::path tokenizer = source / "tokenizer.json";
    const SpecialTokens special =
        fs::exists(tokenizer) ? copy_tokenizer(tokenizer, folder, config.max_seq_len) : SpecialTokens{};
    write_json(folder / "config.json", hf_config_from(config, hf_dtype_name(type), special));
    const DenseReader reader(source / "model.safetensors");
    formats::write_safetensors(folder / "model.safetensors", tensor_sources(config, reader, type));
  }
  const Tensor got = probe(load_hf_model(folder, log));
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
