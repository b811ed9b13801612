#include "crope/model/model_dir.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/memory.h"
#include "crope/model/pair_layout.h"
#include "crope/model/tensor_file.h"
#include "crope/run/run_dir.h"

namespace crope::model {
namespace fs = std::filesystem;
namespace {

using formats::SafetensorsFile;
using formats::StoredTensor;
using torch::Tensor;

constexpr std::uint64_t kLongestConfig = 16 << 20;

// Every name of the list is in the file, and the other way round.
void check_names(const SafetensorsFile& file, std::span<const ParameterSpec> specs) {
  std::set<std::string> unknown, missing;
  for (const StoredTensor& tensor : file.tensors()) unknown.insert(tensor.name);
  for (const ParameterSpec& spec : specs) {
    if (unknown.erase(spec.name) == 0) missing.insert(spec.name);
  }
  const auto fail = [&](const char* what, const std::set<std::string>& names) {
    throw Error(fmt::format("{}: {} tensor{} {} '{}'{}", file.path().string(), names.size(),
                            names.size() == 1 ? "" : "s", what, *names.begin(), names.size() == 1 ? "" : " and others"),
                "config.json and model.safetensors do not belong together: check variant and num_layers");
  };
  if (!missing.empty()) fail("missing:", missing);
  if (!unknown.empty()) fail("that this configuration does not have:", unknown);
}

void check_tensor(const SafetensorsFile& file, const StoredTensor& stored, const ParameterSpec& spec) {
  if (stored.shape != spec.shape) {
    throw Error(fmt::format("{}: tensor '{}': expected the shape [{}], found [{}]", file.path().string(), spec.name,
                            fmt::join(spec.shape, ", "), fmt::join(stored.shape, ", ")),
                "config.json and model.safetensors do not belong together: check the sizes");
  }
  if (!at::isFloatingType(scalar_type(stored.type))) {
    throw Error(fmt::format("{}: tensor '{}': expected floating-point numbers, found {}", file.path().string(),
                            spec.name, formats::element_name(stored.type)));
  }
}

// Checks every tensor, and that there is room for those that cannot be used as they are in the file.
void require_memory_of_copies(const SafetensorsFile& file, std::span<const ParameterSpec> specs,
                              const torch::TensorOptions& target) {
  double bytes = 0;
  for (const ParameterSpec& spec : specs) {
    const StoredTensor& stored = file.at(spec.name);
    check_tensor(file, stored, spec);
    const bool is_copied = !spec.paired_dimensions.empty() || scalar_type(stored.type) != target.dtype();
    if (is_copied) bytes += static_cast<double>(spec.size()) * static_cast<double>(target.dtype().itemsize());
  }
  if (target.device().is_cpu()) require_memory(bytes, file.path().string(), "its weights");
}

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

Transformer load_model(const fs::path& path, Log& log, const torch::TensorOptions& options) {
  const fs::path dir = resolve_model_dir(path);
  const ModelConfig config = load_config(dir);
  const SafetensorsFile file = SafetensorsFile::open(dir / kWeightsFile);
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  check_names(file, specs);

  const auto target = options.has_dtype() ? options : options.dtype(torch::kFloat32);
  require_memory_of_copies(file, specs, target);
  std::vector<Tensor> values;
  for (const ParameterSpec& spec : specs) {
    const StoredTensor& stored = file.at(spec.name);
    const Tensor mapped = view_tensor(file, stored);
    Tensor value = pairs_to_halves(mapped, spec.paired_dimensions, target);
    if (!value.is_alias_of(mapped)) file.mapping()->release(stored.bytes);
    warn_of_bad_values(value, spec.name, file.path(), log);
    values.push_back(std::move(value));
  }
  return make_transformer(config, values);
}

std::vector<formats::TensorSource> weight_sources(const Transformer& model) {
  std::vector<formats::TensorSource> sources;
  for (const Parameter& parameter : model.parameters) {
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
  write_json(dir / kConfigFile, config_to_json(model.config));
}

void save_model(const Transformer& model, const fs::path& dir) {
  AtomicDirectory directory(dir);
  save_model_files(model, directory.working_path());
  directory.commit();
}

}  // namespace crope::model
