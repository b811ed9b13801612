#include "crope/interop/hf_import.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <optional>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/hf_config.h"
#include "crope/interop/hf_files.h"
#include "crope/interop/hf_layout.h"
#include "crope/interop/hf_tokenizer.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/ops/block_linear.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using model::ModelConfig;
using model::Transformer;
using torch::Tensor;

// The configuration that an export keeps under "crope", if it agrees with the rest of the file.
std::optional<ModelConfig> exported_config(const Json& json, const ModelConfig& dense, const std::string& origin) {
  const auto kept = json.find("crope");
  if (kept == json.end()) return std::nullopt;
  const ModelConfig config = model::config_from_json(*kept, origin + ": crope");
  // The variant and the width of heads may differ: the export changes them.
  const Json ours = model::config_to_json(config), theirs = model::config_to_json(dense);
  model::visit_required_fields(dense, [&](const char* field, const auto&, const char*) {
    if (ours[field] == theirs[field]) return;
    throw Error(fmt::format("{}: crope.{} is {}, but the model has {}", origin, field, ours[field].dump(),
                            theirs[field].dump()),
                "remove \"crope\" from config.json to import it as a dense model");
  });
  if (config.tie_embeddings != dense.tie_embeddings || config.qk_norm != dense.qk_norm ||
      config.kv_heads() != dense.kv_heads() || config.rope_scaling != dense.rope_scaling) {
    throw Error(fmt::format("{}: crope and the model do not agree on tied embeddings, QK-norm, key/value heads or rope "
                            "scaling",
                            origin),
                "remove \"crope\" from config.json to import it as a dense model");
  }
  return config;
}

// The ids that begin and end a text: those of config.json, and of generation_config.json where it has none.
Json find_generation_ids(const Json& config_json, const fs::path& hf_dir) {
  Json ids = generation_ids(config_json, (hf_dir / "config.json").string());
  const fs::path other = hf_dir / "generation_config.json";
  if (!fs::exists(other)) return ids;
  const Json more = generation_ids(read_json(other), other.string());
  for (const auto& [key, value] : more.items()) {
    if (!ids.contains(key)) ids[key] = value;
  }
  return ids;
}

// Reads one model's tensors in our order.
class Importer {
 public:
  Importer(const HfFiles& files, const ModelConfig& config) : files_(files), config_(config) {}

  Transformer run() {
    std::vector<Tensor> values;
    const std::vector<model::ParameterSpec> specs = model::parameter_specs(config_);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const HfPlace place = hf_place(specs[i].name);
      const std::string theirs = place.hf_name();
      Tensor disk = read_dense(*place.name, theirs);
      if (specs[i].role == model::Role::gain && specs[i].shape[0] != disk.size(0)) {
        const Tensor pairs = disk.view({-1, 2});
        if (!at::equal(pairs.select(1, 0), pairs.select(1, 1))) throw ChangedSinceExport{theirs};
        disk = pairs.select(1, 0).contiguous();
      }
      if (specs[i].role != model::Role::pair_a) {
        // Every dense tensor has a paired dimension or was copied above, so this does not keep the file mapped.
        values.push_back(model::pairs_to_halves(disk, specs[i].paired_dimensions));
        files_.release(theirs);
        continue;
      }
      const std::array<int, 2> both = {0, 1};
      const Tensor halves = model::pairs_to_halves(disk, both);
      const ops::ComplexWeight pair = ops::contract(halves);
      if (!at::equal(ops::expand(pair), halves)) throw ChangedSinceExport{theirs};
      values.push_back(pair.a);
      values.push_back(pair.b);
      files_.release(theirs);
      ++i;  // pair_b follows pair_a
    }
    if (config_.qk_norm && config_.qk_gain == model::Gain::none) check_ones();
    check_nothing_is_left();
    return model::make_transformer(config_, values);
  }

 private:
  // The tensor on our disk layout, dense.
  Tensor read_dense(const HfName& name, const std::string& theirs) {
    used_.insert(theirs);
    return from_hf(files_.read(theirs, hf_shape(config_, name)), name, config_);
  }

  // A QK-norm without gains is exported with ones (times sqrt(2) for the keys of half_rope_qk), in any of the types of
  // an export. Anything else has been trained since.
  void check_ones() {
    const Tensor ones = at::ones({config_.qk_width()});
    for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
      for (const char* name : {"q_norm", "k_norm"}) {
        const HfPlace place = hf_place(fmt::format("blocks.{}.attention.{}.weight", layer, name));
        const std::string theirs = place.hf_name();
        used_.insert(theirs);
        const Tensor found = files_.read(theirs, hf_shape(config_, *place.name));
        const Tensor exported = to_hf(ones, *place.name, config_);
        const auto is_exported_as = [&](torch::ScalarType type) {
          return at::equal(found, exported.to(type).to(torch::kFloat32));
        };
        const bool unchanged =
            is_exported_as(torch::kFloat32) || is_exported_as(torch::kBFloat16) || is_exported_as(torch::kFloat16);
        if (!unchanged) throw ChangedSinceExport{theirs};
      }
    }
  }

  void check_nothing_is_left() const {
    for (const std::string& name : files_.names()) {
      const bool harmless =
          name.ends_with("rotary_emb.inv_freq") || (name == "lm_head.weight" && config_.tie_embeddings);
      if (used_.contains(name) || harmless) continue;
      throw Error(fmt::format("the tensor '{}' has no place in a model of this kind", name),
                  "biases and other extra parameters are not supported");
    }
  }

  const HfFiles& files_;
  const ModelConfig& config_;
  std::set<std::string> used_;
};

}  // namespace

Transformer load_hf_model(const fs::path& hf_dir, Log& log) {
  const fs::path config_path = hf_dir / "config.json";
  if (!fs::exists(config_path)) {
    throw Error(fmt::format("{}: not a Hugging Face model: there is no config.json", hf_dir.string()),
                "check the path");
  }
  const Json json = read_json(config_path);
  ModelConfig config = read_hf_config(json, config_path.string());
  const HfFiles files(hf_dir);
  if (const auto exported = exported_config(json, config, config_path.string())) {
    try {
      return Importer(files, *exported).run();
    } catch (const ChangedSinceExport& e) {
      log.warn(fmt::format("{} was exported as {}, but '{}' has been changed since: importing it as dense",
                           hf_dir.string(), model::traits(exported->variant).name, e.name));
    }
  }
  config.other_keys = find_generation_ids(json, hf_dir);
  return Importer(files, config).run();
}

void import_hf(const fs::path& hf_dir, const fs::path& out, Log& log) {
  const Transformer model = load_hf_model(hf_dir, log);
  AtomicDirectory directory(out);
  model::save_model_files(model, directory.working_path());
  import_hf_text_files(hf_dir, directory.working_path(), model.config.max_seq_len, log);
  directory.commit();
}

}  // namespace crope::interop
