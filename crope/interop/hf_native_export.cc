#include "crope/interop/hf_native_export.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/dense_tensors.h"
#include "crope/interop/hf_config.h"
#include "crope/interop/hf_export.h"
#include "crope/interop/model_card.h"
#include "crope/interop/modelling_file.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfigClass = "modeling_crope.CRopeConfig";
constexpr const char* kModelClass = "modeling_crope.CRopeForCausalLM";

Json native_config(const model::ModelConfig& config, torch::ScalarType type, const SpecialTokens& special) {
  Json json = model::config_to_json(config);
  json["model_type"] = "crope";
  json["architectures"] = {"CRopeForCausalLM"};
  json["auto_map"] = {{"AutoConfig", kConfigClass}, {"AutoModelForCausalLM", kModelClass}};
  json["torch_dtype"] = hf_dtype_name(type);
  if (special.end_of_text) {
    for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
      if (!json.contains(key)) json[key] = *special.end_of_text;
    }
  }
  return json;
}

// The tensors as they are on disk, one at a time; quantised ones are widened.
void write_native_weights(const fs::path& source, const model::ModelConfig& config, const fs::path& target,
                          torch::ScalarType type) {
  const model::ParameterFile file(source, model::parameter_specs(config));
  std::vector<formats::TensorSource> sources;
  for (const model::ParameterSpec& spec : file.specs()) {
    sources.push_back({spec.name, model::element_type(type), spec.shape,
                       [&file, &spec, type](const formats::TensorSource::Sink& sink) {
                         model::tensor_source("", file.read_pairs(spec).to(type)).produce(sink);
                         file.release();
                       }});
  }
  formats::write_safetensors(target, sources);
}

// The tensors of an annealed model, written as a model of the variant rope, one at a time.
void write_expanded_weights(const fs::path& source, const model::ModelConfig& stored, const fs::path& target,
                            torch::ScalarType type) {
  const DenseTensors tensors(source, stored);
  std::vector<formats::TensorSource> sources;
  for (const model::ParameterSpec& spec : model::parameter_specs(exported_config(stored))) {
    const std::string name = spec.name.substr(0, spec.name.rfind('.'));
    sources.push_back({spec.name, model::element_type(type), spec.shape,
                       [&tensors, name, type](const formats::TensorSource::Sink& sink) {
                         model::tensor_source("", tensors.read(name).to(type)).produce(sink);
                         tensors.release();
                       }});
  }
  formats::write_safetensors(target, sources);
}

}  // namespace

ExportReport export_hf_native(const fs::path& model_dir, const fs::path& out, torch::ScalarType type, Log& log) {
  const fs::path source = model::resolve_model_dir(model_dir);
  const model::ModelConfig stored = model::load_config(source), config = exported_config(stored);
  if (config.rope_scaling != ops::RopeScaling{}) {
    throw Error(fmt::format("rope scaling '{}' has no place in the native export", config.rope_scaling.type.name()),
                "the plain Hugging Face format holds it");
  }
  const HfFolder parts{.card = CardKind::hf_native,
                       .config = [&](const SpecialTokens& special) { return native_config(config, type, special); },
                       .write_weights =
                           [&](const fs::path& folder) {
                             if (stored.conjugate_scale) {
                               write_expanded_weights(source, stored, folder / model::kWeightsFile, type);
                             } else {
                               write_native_weights(source, config, folder / model::kWeightsFile, type);
                             }
                             write_file(folder / kModellingFile, modelling_source());
                           },
                       .read_back = [&](const fs::path& folder) { return model::load_model(folder, log); }};
  return write_hf_folder(model_dir, out, type, parts, log);
}

}  // namespace crope::interop
