#include "crope/interop/gguf_export.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <limits>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/formats/gguf_writer.h"
#include "crope/interop/dense_tensors.h"
#include "crope/interop/ggml_blocks.h"
#include "crope/interop/gguf_model.h"
#include "crope/interop/gguf_order.h"
#include "crope/interop/gguf_tokenizer.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/ops/block_linear.h"

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
    case GgmlType::q4_0:
      return 2;
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
  if (type == GgmlType::q4_0) return kFourBitTolerance;
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

// The vocabulary's matrices stay at 8 bits where the others have 4.
GgmlType stored_type(const HfName& name, const std::vector<std::int64_t>& shape, GgmlType type) {
  if (shape.size() == 1) return GgmlType::f32;
  if (shape.back() % formats::ggml_block(type).elements != 0) return GgmlType::f16;
  const bool is_vocabulary = std::string_view(name.ours) == "embedding" || std::string_view(name.ours) == "output";
  return is_vocabulary && type == GgmlType::q4_0 ? GgmlType::q8_0 : type;
}

// The model's tensors as the file has them.
class GgufSource {
 public:
  // `config` is what the export says, `stored` what the model's files do.
  GgufSource(const fs::path& model_dir, const model::ModelConfig& config, const model::ModelConfig& stored)
      : config_(config),
        tensors_(model_dir, stored),
        in_halves_(ops::is_quantised(model::load_weight_type(model_dir))) {}

  // The bytes of a tensor, `ours` its name without suffix and `paired` the dimensions that are pairs. Blocks that the
  // model has already stay as they are.
  Tensor bytes(const std::string& ours, const HfName& name, std::span<const int> paired, GgmlType type) const {
    const Tensor bytes = in_halves_ ? bytes_in_halves(ours, name, paired, type)
                                    : encode_ggml(to_gguf(tensors_.read(ours), name, config_), type);
    return bytes.contiguous();
  }

  void release() const { tensors_.release(); }

 private:
  Tensor bytes_in_halves(const std::string& ours, const HfName& name, std::span<const int> paired,
                         GgmlType type) const {
    if (const auto kept = weight_type_of(type); kept && keeps_blocks(name, config_)) {
      const std::optional<Tensor> blocks = tensors_.read_blocks(ours, *kept);
      if (blocks) return to_gguf_halves(*blocks, name, config_).flatten();
    }
    return encode_ggml(to_gguf_halves(model::pairs_to_halves(tensors_.read(ours), paired), name, config_), type);
  }

  model::ModelConfig config_;
  DenseTensors tensors_;
  bool in_halves_;
};

// In the order of the forward pass.
std::vector<GgufTensorSource> gguf_sources(const model::ModelConfig& config, const GgufSource& source, GgmlType type,
                                           Log& log) {
  std::vector<GgufTensorSource> sources;
  std::string odd;
  model::ModelConfig with_gains = config;
  with_gains.qk_gain = with_gains.norm_gain = model::Gain::free;
  for (const model::ParameterSpec& spec : model::parameter_specs(with_gains)) {
    if (spec.role == model::Role::pair_b) continue;  // part of the tensor before it
    const HfPlace place = hf_place(spec.name);
    const std::vector<std::int64_t> shape = hf_shape(config, *place.name);
    const GgmlType stored = stored_type(*place.name, shape, type);
    if (stored == GgmlType::f16 && type != GgmlType::f16) odd = place.gguf_name();
    const std::string ours = spec.name.substr(0, spec.name.rfind('.'));
    const std::vector<int> paired = spec.role == model::Role::pair_a ? std::vector{0, 1} : spec.paired_dimensions;
    sources.push_back({place.gguf_name(), stored, shape, [&source, ours, place, paired, stored](const auto& sink) {
                         const Tensor bytes = source.bytes(ours, *place.name, paired, stored);
                         sink({static_cast<const std::byte*>(bytes.const_data_ptr()), bytes.nbytes()});
                         source.release();
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

// Throws Error unless every matrix of the file, read back, is the model's up to rounding to 4 bits. REQUIRES: the model
// is not quantised, so that both hold the stream in the same order.
void compare_matrices(const DenseTensors& expected, const model::Transformer& got, const fs::path& model_dir) {
  for (std::size_t i = 0; i < got.parameters.size(); ++i) {
    const auto& [spec, value, quantised] = got.parameters[i];
    if (spec.role == model::Role::gain || spec.role == model::Role::pair_b) continue;
    const std::string name = spec.name.substr(0, spec.name.rfind('.'));
    const bool is_pair = spec.role == model::Role::pair_a;
    const Tensor found = is_pair ? ops::expand({value, got.parameters[i + 1].value}) : value;
    const std::vector<int> paired = is_pair ? std::vector{0, 1} : spec.paired_dimensions;
    const Tensor wanted = model::pairs_to_halves(expected.read(name), paired);
    if (wanted.sizes() != found.sizes()) continue;  // heads that were filled up with zeros
    const double error = ((found - wanted).norm() / wanted.norm().clamp_min(1e-30)).item<double>();
    expected.release();
    if (error <= kFourBitError) continue;
    throw Error(fmt::format("the export of {} differs from it: '{}' by {:.3g} of its norm, expected at most {}",
                            model_dir.string(), name, error, kFourBitError),
                "nothing was written; if the weights are not finite, export an earlier checkpoint");
  }
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
    const GgufSource tensors(source, config, stored);
    formats::write_gguf(written, gguf_keys(source, out, config, type, log), gguf_sources(config, tensors, type, log));
  }
  const model::Transformer read_back = load_gguf_model(written);
  double tolerance = gguf_tolerance(type);
  if (type == GgmlType::q4_0 && !ops::is_quantised(model::load_weight_type(source))) {
    compare_matrices(DenseTensors(source, stored), read_back, model_dir);
    tolerance = std::numeric_limits<double>::max();  // reported all the same, and refused if not finite
  }
  const ExportReport report = compare_logits(expected, probe_logits(read_back), tolerance, model_dir, out);
  publish(written, out);
  return report;
}

}  // namespace crope::interop
