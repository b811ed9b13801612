#include "crope/interop/hf_export.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "crope/base/file.h"
#include "crope/interop/dense_tensors.h"
#include "crope/interop/hf_config.h"
#include "crope/interop/hf_import.h"
#include "crope/interop/hf_layout.h"
#include "crope/interop/hf_tokenizer.h"
#include "crope/interop/model_card.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"
#include "crope/text/tokenizer.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using torch::Tensor;

std::vector<formats::TensorSource> tensor_sources(const model::ModelConfig& config, const DenseTensors& tensors,
                                                  torch::ScalarType type) {
  std::vector<formats::TensorSource> sources;
  const auto add = [&](const std::string& ours, const std::string& theirs, const HfName& name) {
    if (!tensors.contains(ours)) return;
    sources.push_back({theirs + ".weight", model::element_type(type), hf_shape(config, name),
                       [&config, &tensors, ours, name, type](const formats::TensorSource::Sink& sink) {
                         const Tensor value = to_hf(tensors.read(ours), name, config).to(type);
                         model::tensor_source("", value).produce(sink);
                         tensors.release();
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

}  // namespace

ExportReport write_hf_folder(const fs::path& model_dir, const fs::path& out, torch::ScalarType type,
                             const HfFolder& parts, Log& log) {
  const fs::path source = model::resolve_model_dir(model_dir);
  AtomicDirectory directory(out);
  const fs::path folder = directory.working_path();
  // The model, its tensors on their way, and the copy that is checked: one after the other, never two at a time.
  const Tensor expected = probe_logits(model::load_model(source, log));
  const fs::path tokenizer = source / text::kTokenizerFile;
  const SpecialTokens special = fs::exists(tokenizer)
                                    ? copy_tokenizer(tokenizer, folder, exported_config(model::load_config(source)))
                                    : SpecialTokens{};
  const Json config = parts.config(special);
  write_json(folder / "config.json", config);
  if (const Json ids = generation_ids(config); !ids.empty()) write_json(folder / "generation_config.json", ids);
  write_file(folder / "README.md", model_card(model_dir, parts.card));
  parts.write_weights(folder);
  const ExportReport report =
      compare_logits(expected, probe_logits(parts.read_back(folder)), export_tolerance(type), model_dir, out);
  directory.commit();
  return report;
}

ExportReport export_hf(const fs::path& model_dir, const fs::path& out, torch::ScalarType type, Log& log) {
  const fs::path source = model::resolve_model_dir(model_dir);
  const model::ModelConfig stored = model::load_config(source), config = exported_config(stored);
  const HfFolder parts{
      .card = CardKind::hf,
      .config = [&](const SpecialTokens& special) { return hf_config_from(config, hf_dtype_name(type), special); },
      .write_weights =
          [&](const fs::path& folder) {
            const DenseTensors tensors(source, stored);
            formats::write_safetensors(folder / "model.safetensors", tensor_sources(config, tensors, type));
          },
      .read_back = [&](const fs::path& folder) { return load_hf_model(folder, log); }};
  return write_hf_folder(model_dir, out, type, parts, log);
}

}  // namespace crope::interop
