#include "crope/study/run_identity.h"

#include <cmath>
#include <set>
#include <string_view>
#include <type_traits>

#include "crope/base/error.h"
#include "crope/model/config.h"
#include "crope/train/train_config.h"

namespace crope::study {
namespace {

using Fields = std::map<std::string, Json>;

const Json* part_of(const Json& record, const char* name) {
  const auto found = record.find(name);
  return found == record.end() || !found->is_object() ? nullptr : &*found;
}

// `value` with the type of `standard`, so that 1 and 1.0 are written alike.
template <typename T>
Json as_type_of(const T&, const Json& value) {
  if (!value.is_number()) return value;
  const double number = value.get<double>();
  if constexpr (std::is_same_v<T, double>) {
    return number;
  } else {
    const bool is_whole = value.is_number_float() && number == std::floor(number) && std::abs(number) < 1e15;
    return is_whole ? Json(static_cast<std::int64_t>(number)) : value;
  }
}

void add_initialization(const Json& model, RunIdentity& identity) {
  const train::TrainConfig standard;
  const Json* init = part_of(model, "init");
  const auto take = [&](const char* name, double value) {
    const bool is_given = init != nullptr && init->contains(name);
    identity.fields[std::string("model.init.") + name] = is_given ? as_type_of(value, (*init)[name]) : Json(value);
  };
  take("embedding_std", standard.embedding_std);
  take("projection_gain", standard.projection_gain);
}

void add_model(const Json& model, RunIdentity& identity) {
  std::set<std::string> known = {"variant", "init", "qk_norm", "tie_embeddings"};
  const auto name_of = [](std::string_view field) { return "model." + std::string(field); };
  model::ModelConfig config;
  bool is_complete = true;
  try {
    config = model::config_from_json(model, "run.json");
  } catch (const Error&) {
    is_complete = false;
  }
  model::visit_fields(config, [&](const char* field, const auto& value, const char*) {
    known.insert(field);
    if (is_complete) {
      identity.fields[name_of(field)] = value;
    } else if (model.contains(field)) {
      identity.fields[name_of(field)] = as_type_of(value, model[field]);
    }
  });
  if (is_complete) {
    identity.fields[name_of("qk_norm")] = config.qk_norm;
    identity.fields[name_of("tie_embeddings")] = config.tie_embeddings;
    add_initialization(model, identity);
  }
  for (const auto& [key, value] : model.items()) {
    if (!known.contains(key)) identity.unknown[name_of(key)] = value;
  }
}

void add_train(const Json& train, RunIdentity& identity) {
  std::set<std::string> known;
  const train::TrainConfig standard;
  train::visit_train_fields(standard, [&](const char* field, const auto& value, train::FieldKind kind, const char*) {
    const std::string_view name = field;
    known.insert(field);
    // A longer run has another result.
    if ((kind == train::FieldKind::runtime && name != "steps") || name == "seed") return;
    identity.fields[std::string("train.") + field] =
        train.contains(field) ? as_type_of(value, train[field]) : Json(value);
  });
  Json& precision = identity.fields["train.precision"];
  const Json device = train.contains("device") ? train["device"] : Json("cpu");
  if (precision == "auto") precision = device == "cpu" ? "fp32" : "bf16";
  for (const auto& [key, value] : train.items()) {
    if (!known.contains(key)) identity.unknown["train." + key] = value;
  }
}

}  // namespace

RunIdentity run_identity(const Json& record) {
  RunIdentity identity;
  if (!record.is_object()) return identity;
  const Json *model = part_of(record, "model"), *train = part_of(record, "train"), *data = part_of(record, "data");
  if (model != nullptr) add_model(*model, identity);
  if (train != nullptr) add_train(*train, identity);
  if (model == nullptr && train == nullptr && data == nullptr) return identity;
  const bool has_fingerprint = data != nullptr && data->contains("fingerprint");
  identity.fields["data.fingerprint"] = has_fingerprint ? (*data)["fingerprint"] : Json(nullptr);
  identity.fields["init_from"] = record.contains("init_from") ? record["init_from"] : Json("");
  return identity;
}

}  // namespace crope::study
