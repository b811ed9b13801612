#include "crope/study/run_identity.h"

#include <fmt/format.h>

#include <set>

#include "crope/train/train_config.h"

namespace crope::study {
namespace {

// What a study varies, and what does not change the result.
std::set<std::string> ignored_settings() {
  std::set<std::string> names = {"variant", "seed"};
  const train::TrainConfig any;
  train::visit_train_fields(any, [&](const char* name, const auto&, train::FieldKind kind, const char*) {
    if (kind == train::FieldKind::runtime) names.insert(name);
  });
  names.erase("steps");  // a longer run has another result
  return names;
}

}  // namespace

std::map<std::string, Json> run_identity(const Json& record) {
  std::map<std::string, Json> fields;
  if (!record.is_object()) return fields;
  const std::set<std::string> ignored = ignored_settings();
  for (const char* part : {"model", "train"}) {
    const auto found = record.find(part);
    if (found == record.end() || !found->is_object()) continue;
    for (const auto& [key, value] : found->items()) {
      if (ignored.contains(key)) continue;
      Json copy = value;
      if (copy.is_object()) copy.erase("seed");  // model.init
      fields[fmt::format("{}.{}", part, key)] = std::move(copy);
    }
  }
  const auto data = record.find("data");
  if (data != record.end() && data->is_object() && data->contains("fingerprint")) {
    fields["data.fingerprint"] = (*data)["fingerprint"];
  }
  if (record.contains("init_from")) fields["init_from"] = record["init_from"];
  return fields;
}

}  // namespace crope::study
