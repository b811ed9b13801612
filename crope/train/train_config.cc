#include "crope/train/train_config.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"
#include "crope/dist/rank_device.h"
#include "crope/model/rope_scaling.h"

namespace crope::train {
namespace {

void require(bool holds, const char* field, double value, const char* expected) {
  if (!holds) throw UsageError(fmt::format("{}: expected {}, got {}", field, expected, value));
}

// Whether two settings are the same value: 1 and 1.0 are.
bool same(const Json& one, const Json& other) {
  if (one.is_number() && other.is_number()) return one.get<double>() == other.get<double>();
  return one == other;
}

}  // namespace

void validate(const TrainConfig& c) {
  const auto at_least = [](const char* field, std::int64_t value, std::int64_t least, const char* expected) {
    require(value >= least, field, static_cast<double>(value), expected);
  };
  at_least("steps", c.steps, 1, "at least 1");
  at_least("batch_size", c.batch_size, 1, "at least 1");
  at_least("seq_len", c.seq_len, 1, "at least 1");
  at_least("newton_schulz_steps", c.newton_schulz_steps, 0, "0 or more");
  at_least("micro_batch_size", c.micro_batch_size, 0, "0 or more");
  at_least("threads", c.threads, 0, "0 or more");
  at_least("checkpoint_every", c.checkpoint_every, 0, "0 or more");
  at_least("keep_checkpoints", c.keep_checkpoints, 0, "0 or more");
  at_least("validate_every", c.validate_every, 0, "0 or more");
  at_least("validate_final_steps", c.validate_final_steps, 0, "0 or more");
  at_least("validate_final_every", c.validate_final_every, 0, "0 or more");
  at_least("validation_rows", c.validation_rows, 0, "0 or more");
  at_least("sample_tokens", c.sample_tokens, 0, "0 or more");
  at_least("seed", c.seed, 0, "0 or more");
  const auto is_share = [](double x) { return x >= 0 && x < 1; };
  require(is_share(c.momentum), "momentum", c.momentum, "0 or more and less than 1");
  require(is_share(c.beta1), "beta1", c.beta1, "0 or more and less than 1");
  require(is_share(c.beta2), "beta2", c.beta2, "0 or more and less than 1");
  for (const auto& [field, value] : {std::pair{"weight_decay", c.weight_decay},
                                     {"adam_eps", c.adam_eps},
                                     {"grad_clip", c.grad_clip},
                                     {"embedding_std", c.embedding_std},
                                     {"projection_gain", c.projection_gain}}) {
    require(value >= 0 && std::isfinite(value), field, value, "0 or more");
  }
  optim::validate(schedule_of(c));
  if (c.muon_precision == Precision::automatic) {
    throw UsageError("muon_precision: expected fp32 or bf16, found 'auto'");
  }
  dist::rank_device(c.device, {});
}

Precision resolve_precision(Precision precision, const std::string& device) {
  if (precision != Precision::automatic) return precision;
  return torch::Device(device).is_cpu() ? Precision::fp32 : Precision::bf16;
}

torch::ScalarType scalar_type(Precision precision) {
  return precision == Precision::bf16 ? torch::kBFloat16 : torch::kFloat32;
}

optim::Schedule schedule_of(const TrainConfig& c) {
  return {.kind = c.schedule,
          .lr = c.lr,
          .min_lr = c.min_lr,
          .warmup_steps = c.warmup_steps,
          .steps = c.steps,
          .decay_share = c.decay_share};
}

OptimizerOptions optimizer_options(const TrainConfig& c) {
  OptimizerOptions options;
  options.muon.momentum = c.momentum;
  options.muon.weight_decay = c.weight_decay;
  options.muon.lr_adjustment = c.muon_lr;
  options.muon.newton_schulz.steps = static_cast<int>(c.newton_schulz_steps);
  options.muon.iteration_type = scalar_type(c.muon_precision);
  options.adamw = {.beta1 = c.beta1, .beta2 = c.beta2, .eps = c.adam_eps};
  options.embedding_weight_decay = c.weight_decay;
  options.tied_pairs = c.muon_tied;
  options.dense_projections = c.muon_dense;
  return options;
}

model::InitOptions init_options(const TrainConfig& c) {
  return {.seed = static_cast<std::uint64_t>(c.seed),
          .embedding_std = c.embedding_std,
          .projection_gain = c.projection_gain};
}

void apply_settings(const Settings& given, model::ModelConfig& model, TrainConfig& config, std::string_view origin) {
  std::vector<std::string> names = {"variant", model::kRopeScalingKey};
  const auto take = [&](const char* name, auto& value) {
    names.emplace_back(name);
    using Value = std::remove_reference_t<decltype(value)>;
    if (given.contains(name)) value = setting_value<Value>(given[name], name, origin);
  };
  model::visit_fields(model, [&](const char* name, auto& value, const char*) { take(name, value); });
  visit_train_fields(config, [&](const char* name, auto& value, FieldKind, const char*) { take(name, value); });
  if (given.contains("variant")) {
    model.variant = model::variant_by_name(json_value<std::string>(given["variant"], "variant", origin));
  }
  if (given.contains(model::kRopeScalingKey)) {
    model.rope_scaling = model::rope_scaling_from_json(given[model::kRopeScalingKey],
                                                       fmt::format("{}: {}", origin, model::kRopeScalingKey));
  }
  for (const auto& [key, value] : given.items()) {
    if (std::ranges::find(names, key) == names.end()) {
      throw UsageError(fmt::format("{}: unknown setting '{}'", origin, key), suggest(key, names));
    }
  }
}

Settings settings_of(const model::ModelConfig& model, const TrainConfig& config) {
  Settings settings = Json::object();
  model::visit_fields(model, [&](const char* name, const auto& value, const char*) { settings[name] = value; });
  settings["variant"] = model::traits(model.variant).name;
  settings[model::kRopeScalingKey] = model::rope_scaling_to_json(model.rope_scaling);
  visit_train_fields(config,
                     [&](const char* name, const auto& value, FieldKind, const char*) { settings[name] = value; });
  return settings;
}

std::vector<std::string> conflicts(const Settings& recorded, const Settings& given) {
  std::vector<std::string> found;
  const TrainConfig any;
  std::vector<std::string> runtime;
  visit_train_fields(any, [&](const char* name, const auto&, FieldKind kind, const char*) {
    if (kind == FieldKind::runtime) runtime.emplace_back(name);
  });
  for (const auto& [key, value] : given.items()) {
    if (std::ranges::find(runtime, key) != runtime.end()) continue;
    const bool is_recorded = recorded.contains(key);
    if (is_recorded && same(recorded[key], value)) continue;
    if (key == "precision" && value == "auto") continue;
    // Runs of earlier versions have none.
    if (key == model::kRopeScalingKey && !is_recorded && value == model::rope_scaling_to_json({})) continue;
    found.push_back(
        fmt::format("{}: recorded {}, given {}", key, is_recorded ? recorded[key].dump() : "nothing", value.dump()));
  }
  return found;
}

}  // namespace crope::train
