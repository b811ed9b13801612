#include "crope/model/model_dir.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/model/pair_layout.h"
#include "crope/model/quantise.h"
#include "crope/model/tensor_file.h"
#include "crope/model/weight_type.h"
#include "crope/run/run_dir.h"

namespace crope::model {
namespace fs = std::filesystem;
namespace {

using torch::Tensor;

constexpr std::uint64_t kLongestConfig = 16 << 20;

void warn_of_bad_values(const Tensor& value, const std::string& name, const fs::path& path, Log& log) {
  // A sum is finite unless an element is not (or the sum overflows): one pass without a temporary.
  if (std::isfinite(value.sum().item<double>())) return;
  const auto bad = at::logical_not(at::isfinite(value)).sum().item<int64_t>();
  if (bad == 0) return;
  log.warn(
      fmt::format("{}: tensor '{}' has {} values that are not finite; scores will be NaN", path.string(), name, bad));
}

}  // namespace

fs::path resolve_model_dir(const fs::path& path) {
  if (fs::exists(path / kConfigFile)) return path;
  if (fs::exists(path / run::kLatestLink / kConfigFile)) return fs::canonical(path / run::kLatestLink);
  if (!fs::exists(path)) throw Error(fmt::format("{} does not exist", path.string()), "check the path");
  throw Error(fmt::format("{} is neither a model directory ({} and {}) nor a run directory with a checkpoint ({})",
                          path.string(), kConfigFile, kWeightsFile, run::kLatestLink),
              "a model from elsewhere comes in by 'crope import'");
}

ModelConfig load_config(const fs::path& model_dir) {
  const fs::path path = model_dir / kConfigFile;
  return config_from_json(read_json(path, kLongestConfig), path.string());
}

ops::WeightType load_weight_type(const fs::path& model_dir) {
  const fs::path path = model_dir / kConfigFile;
  return recorded_weight_type(read_json(path, kLongestConfig), path.string());
}

Transformer load_model(const fs::path& path, Log& log, const torch::TensorOptions& options) {
  const fs::path dir = resolve_model_dir(path);
  const ModelConfig config = load_config(dir);
  const ParameterFile file(dir, parameter_specs(config));
  const auto target = options.has_dtype() ? options : options.dtype(torch::kFloat32);
  file.require_memory_of_copies(target);
  std::vector<Tensor> values;
  for (const ParameterSpec& spec : file.specs()) {
    throw_if_interrupted();
    values.push_back(file.read(spec, target));
    warn_of_bad_values(values.back(), spec.name, file.path(), log);
  }
  return make_transformer(config, values);
}

Transformer load_quantised_model(const fs::path& path, Log& log, std::optional<ops::WeightType> type) {
  const fs::path dir = resolve_model_dir(path);
  const ModelConfig config = load_config(dir);
  const ParameterFile file(dir, parameter_specs(config));
  std::vector<StoredValue> values;
  for (const ParameterSpec& spec : file.specs()) {
    throw_if_interrupted();
    if (!type || spec.role == Role::gain) {
      values.push_back(file.read_stored(spec));
    } else {
      values.push_back(quantised_value(spec, file.read(spec, torch::kFloat32), *type, file.path().string()));
    }
    if (const auto* plain = std::get_if<Tensor>(&values.back())) {
      warn_of_bad_values(*plain, spec.name, file.path(), log);
    }
  }
  return make_transformer(config, std::move(values));
}

namespace {

// The blocks of a quantised parameter; the sink receives them in the order of the file.
formats::TensorSource block_source(const Parameter& parameter) {
  const ops::QuantisedMatrix matrix = *parameter.quantised;
  const auto shape = ops::block_shape(matrix.type, matrix.M, matrix.N);
  return {parameter.spec.name, formats::ElementType::u8, {shape.begin(), shape.end()}, [matrix](const auto& sink) {
            tensor_source("", ops::to_blocks(matrix)).produce(sink);
          }};
}

}  // namespace

std::vector<formats::TensorSource> weight_sources(const Transformer& model) {
  std::vector<formats::TensorSource> sources;
  for (const Parameter& parameter : model.parameters) {
    if (parameter.quantised) {
      sources.push_back(block_source(parameter));
      continue;
    }
    const Tensor value = parameter.value.detach();
    formats::TensorSource source = tensor_source(parameter.spec.name, value);
    if (!parameter.spec.paired_dimensions.empty()) {
      source.produce = [value, dimensions = parameter.spec.paired_dimensions](const auto& sink) {
        tensor_source("", halves_to_pairs(value, dimensions)).produce(sink);
      };
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

void save_model_files(const Transformer& model, const fs::path& dir) {
  formats::write_safetensors(dir / kWeightsFile, weight_sources(model));
  Json config = config_to_json(model.config);
  const ops::WeightType type = weight_type(model);
  if (type != ops::WeightType::fp32) config[kWeightsKey] = Choice(type).name();
  write_json(dir / kConfigFile, config);
}

void save_model(const Transformer& model, const fs::path& dir) {
  AtomicDirectory directory(dir);
  save_model_files(model, directory.working_path());
  directory.commit();
}

}  // namespace crope::model
