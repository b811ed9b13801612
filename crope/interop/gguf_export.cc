#include "crope/interop/gguf_export.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/formats/gguf_writer.h"
#include "crope/interop/dense_tensors.h"
#include "crope/interop/ggml_blocks.h"
#include "crope/interop/gguf_model.h"
#include "crope/interop/gguf_tokenizer.h"
#include "crope/model/model_dir.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using formats::GgmlType;
using formats::GgufTensorSource;
using torch::Tensor;

// llama.cpp's word for what most of the matrices are.
std::uint32_t gguf_file_type(GgmlType type) {
  switch (type) {
    case GgmlType::f32:
      return 0;
    case GgmlType::f16:
      return 1;
    case GgmlType::q8_0:
      return 7;
    case GgmlType::bf16:
      return 32;
    default:
      break;
  }
  throw Error("[export_gguf] a type without a number");
}

double gguf_tolerance(GgmlType type) {
  if (type == GgmlType::f32) return kFp32Tolerance;
  return type == GgmlType::f16 ? kFp16Tolerance : kCoarseTolerance;
}

formats::GgufMetadata gguf_keys(const fs::path& source, const fs::path& out, const model::ModelConfig& config,
                                GgmlType type, Log& log) {
  formats::GgufMetadata keys = {{"general.architecture", gguf_architecture(config)},
                                {"general.type", std::string("model")},
                                {"general.name", out.stem().string()},
                                {"general.file_type", gguf_file_type(type)},
                                {"general.quantization_version", std::uint32_t{2}},
                                {"crope.variant", std::string(model::traits(config.variant).name)}};
  for (auto& key : gguf_shape_keys(config)) keys.push_back(std::move(key));
  for (auto& key : gguf_tokenizer_keys(source, config, log)) keys.push_back(std::move(key));
  return keys;
}

GgmlType stored_type(const std::vector<std::int64_t>& shape, GgmlType type) {
  if (shape.size() == 1) return GgmlType::f32;
  return shape.back() % formats::ggml_block(type).elements == 0 ? type : GgmlType::f16;
}

// In the order of the forward pass.
std::vector<GgufTensorSource> gguf_sources(const model::ModelConfig& config, const DenseTensors& tensors, GgmlType type,
                                           Log& log) {
  std::vector<GgufTensorSource> sources;
  std::string odd;
  model::ModelConfig with_gains = config;
  with_gains.qk_gain = with_gains.norm_gain = model::Gain::free;
  for (const model::ParameterSpec& spec : model::parameter_specs(with_gains)) {
    if (spec.role == model::Role::pair_b) continue;  // part of the tensor before it
    const HfPlace place = hf_place(spec.name);
    const std::vector<std::int64_t> shape = hf_shape(config, *place.name);
    const GgmlType stored = stored_type(shape, type);
    if (shape.size() > 1 && stored != type) odd = place.gguf_name();
    const std::string ours = spec.name.substr(0, spec.name.rfind('.'));
    sources.push_back({place.gguf_name(), stored, shape, [&config, &tensors, ours, place, stored](const auto& sink) {
                         const Tensor bytes =
                             encode_ggml(to_gguf(tensors.read(ours), *place.name, config), stored).contiguous();
                         sink({static_cast<const std::byte*>(bytes.const_data_ptr()), bytes.nbytes()});
                         tensors.release();
                       }});
  }
  if (std::vector<float> factors = gguf_rope_factors(config); !factors.empty()) {
    sources.push_back({kGgufRopeFactors, GgmlType::f32, {std::ssize(factors)}, [factors](const auto& sink) {
                         sink(std::as_bytes(std::span(factors)));
                       }});
  }
  if (!odd.empty()) {
    log.warn(fmt::format("{} and others have rows that are no multiple of {} elements: they are written as F16", odd,
                         formats::ggml_block(type).elements));
  }
  return sources;
}

// Gives a finished file its name, and tells the disk.
void publish(const fs::path& file, const fs::path& name) {
  std::error_code code;
  fs::rename(file, name, code);
  if (code) throw Error(fmt::format("cannot create {}: {}", name.string(), code.message()));
  const int folder = ::open(file.parent_path().parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

ExportReport export_gguf(const fs::path& model_dir, const fs::path& out, GgmlType type, Log& log) {
  const fs::path source = model::resolve_model_dir(model_dir);
  const model::ModelConfig stored = model::load_config(source), config = exported_config(stored);
  if (!out.has_filename() || fs::is_directory(out)) {
    throw Error(fmt::format("{} is a folder; a GGUF export is one file", out.string()),
                "give a name such as model.gguf");
  }
  if (fs::exists(fs::symlink_status(out))) {
    throw Error(fmt::format("{} exists already", out.string()), "give another name, or remove it first");
  }
  // The file is written and checked in a folder that the next attempt removes if this one is killed.
  const AtomicDirectory staging(fs::path(out).concat(".staging"));
  const fs::path written = staging.working_path() / out.filename();
  const Tensor expected = probe_logits(model::load_model(source, log));
  {
    const DenseTensors tensors(source / "model.safetensors", stored);
    formats::write_gguf(written, gguf_keys(source, out, config, type, log), gguf_sources(config, tensors, type, log));
  }
  const ExportReport report =
      compare_logits(expected, probe_logits(load_gguf_model(written)), gguf_tolerance(type), model_dir, out);
  publish(written, out);
  return report;
}

}  // namespace crope::interop
