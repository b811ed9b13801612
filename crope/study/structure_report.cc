#include "crope/study/structure_report.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/progress.h"
#include "crope/model/language_model.h"
#include "crope/model/model_dir.h"

namespace crope::study {
namespace {

using namespace analysis;

// Bytes of a text that are read for each token that is measured: more than any tokenizer needs.
constexpr std::int64_t kBytesPerToken = 64;

constexpr std::array<const char*, kQuarters> kQuarterNames = {"fastest", "fast", "slow", "slowest"};

std::string in_percent(double share) {
  return fmt::format("{:.2f}", 100 * share);
}

std::string in_percent(const HeldOutShare& share) {
  return fmt::format("{:.2f} ± {:.2f}", 100 * share.share, 100 * share.deviation);
}

std::string difference_text(const LossDifference& difference) {
  return fmt::format("{:+.4f} ± {:.4f}", difference.mean, difference.error);
}

std::string upper(std::string_view projections) {
  std::string name;
  for (const char projection : projections) {
    if (!name.empty()) name += " and ";
    name += static_cast<char>(projection - 'a' + 'A');
  }
  return name;
}

Json held_out_to_json(const HeldOutShare& share) {
  return {{"share", share.share}, {"deviation", share.deviation}};
}

Json structures_to_json(const StructureOfProjections& of) {
  Json json = {{"projections", of.projections},
               {"given_share", of.given_share},
               {"best_share", of.best_share},
               {"best_by_quarter", of.best_by_quarter},
               {"null", {{"mean", of.null_mean}, {"deviation", of.null_deviation}}}};
  if (!of.held_out) return json;
  json["held_out"] = held_out_to_json(*of.held_out);
  for (const HeldOutShare& share : of.held_out_by_quarter) {
    json["held_out"]["by_quarter"].push_back(held_out_to_json(share));
  }
  for (const LayerShare& layer : of.layers) {
    Json row = held_out_to_json(layer.all);
    row["layer"] = layer.layer;
    row["by_frequency"] = layer.by_frequency;
    json["layers"].push_back(std::move(row));
  }
  return json;
}

Json difference_to_json(const LossDifference& difference) {
  return {{"difference", difference.mean}, {"standard_error", difference.error}};
}

Json text_to_json(const StructureOnText& text) {
  Json json = {{"tokens", text.tokens}, {"loss", text.loss}};
  for (const ProjectionOnText& of : text.projections) {
    Json layers = Json::array();
    for (const TextShare& layer : of.layers) {
      layers.push_back({{"layer", layer.layer}, {"conjugate_share", layer.all}, {"by_quarter", layer.by_quarter}});
    }
    json["conjugate_share"].push_back({{"projection", std::string(1, of.projection)},
                                       {"all", of.all},
                                       {"by_quarter", of.by_quarter},
                                       {"layers", std::move(layers)}});
  }
  for (const Removal& removal : text.removals) {
    Json row = {
        {"projection", std::string(1, removal.projection)},
        {"removed", removal.removed},
        {"loss", difference_to_json(removal.loss)},
        {"random", {{"removed", removal.removed_at_random}, {"loss", difference_to_json(removal.loss_at_random)}}}};
    row["quarter"] = removal.quarter < static_cast<int>(kQuarters) ? Json(removal.quarter) : Json("all");
    json["removals"].push_back(std::move(row));
  }
  return json;
}

}  // namespace

StructureReport study_structure(const StructureRequest& request, Log& log) {
  StructureReport report;
  const std::vector<ModelPlace> places = model_places(request.dir);
  Progress progress(log, {.label = "structure", .unit = "models", .total = places.size()});
  for (const ModelPlace& place : places) {
    const model::Transformer model = model::load_model(place.dir, log);
    report.models.push_back({place, shared_structures(model, request.structure)});
    report.config = model.config;
    progress.update(report.models.size());
  }
  if (request.text.empty()) return report;
  const model::LanguageModel model = model::load_language_model(places.back().dir, log, ops::WeightType::fp32);
  const std::string text = read_file(request.text);
  // Cut where a line ends: the tokens that are measured are then those of the whole text.
  const auto enough = static_cast<std::size_t>(kBytesPerToken * (request.on_text.tokens + 1));
  const std::size_t end = text.size() <= enough ? text.size() : std::min(text.find('\n', enough), text.size());
  const auto ids = model.encode(std::string_view(text).substr(0, end), request.text.string());
  report.text = structure_on_text(model.model, report.last().structures, ids, request.on_text, log);
  return report;
}

Json structure_to_json(const StructureReport& report) {
  Json models = Json::array();
  for (const PlacedStructures& model : report.models) {
    Json structures = Json::array();
    for (const StructureOfProjections& of : model.structures) structures.push_back(structures_to_json(of));
    Json json = {{"directory", model.place.dir.string()}, {"structures", std::move(structures)}};
    if (model.place.step) json["step"] = *model.place.step;
    models.push_back(std::move(json));
  }
  Json json = {{"config", model::config_to_json(report.config)}, {"models", std::move(models)}};
  if (report.text) json["text"] = text_to_json(*report.text);
  return json;
}

report::Table share_table(const std::vector<StructureOfProjections>& structures) {
  report::Table table{.columns = {"%", "given pairs", "best J", "coin flips", "held out"},
                      .caption =
                          "Complex-linear share of the energy, all layers together. Coin flips: the best J of the "
                          "same rows with signs of imaginary rows at random, mean and standard deviation of a "
                          "round. Held out: J of the even layers on the odd ones, with the standard deviation "
                          "that random signs would give around 50; then by quarter of the frequencies."};
  for (const char* quarter : kQuarterNames) table.columns.push_back(quarter);
  for (const StructureOfProjections& of : structures) {
    std::vector<std::string> row = {upper(of.projections), in_percent(of.given_share), in_percent(of.best_share),
                                    in_percent({of.null_mean, of.null_deviation})};
    row.push_back(of.held_out ? in_percent(*of.held_out) : "-");
    for (const HeldOutShare& share : of.held_out_by_quarter) row.push_back(of.held_out ? in_percent(share) : "-");
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table layer_table(const std::vector<StructureOfProjections>& structures) {
  report::Table table{.columns = {"layer"},
                      .caption =
                          "Complex-linear share of each layer in percent, under the J of the layers of the other "
                          "parity."};
  for (const StructureOfProjections& of : structures) {
    table.columns.push_back(upper(of.projections));
    table.rows.resize(of.layers.size());
    for (std::size_t i = 0; i < of.layers.size(); ++i) {
      if (table.rows[i].empty()) table.rows[i].push_back(std::to_string(of.layers[i].layer));
      table.rows[i].push_back(in_percent(of.layers[i].all));
    }
  }
  return table;
}

report::Table text_table(const StructureOnText& text) {
  report::Table table{.columns = {"%", "all"},
                      .caption = fmt::format("Conjugate-linear share of the energy of queries, keys and values on {} "
                                             "tokens of text, mean over the layers, under the J of the layers of the "
                                             "other parity.",
                                             text.tokens)};
  for (const char* quarter : kQuarterNames) table.columns.push_back(quarter);
  for (const ProjectionOnText& of : text.projections) {
    std::vector<std::string> row = {upper(std::string(1, of.projection)), in_percent(of.all)};
    for (const double share : of.by_quarter) row.push_back(in_percent(share));
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table removal_table(const StructureOnText& text) {
  report::Table table{
      .columns = {"removed from", "frequencies", "% of energy", "loss", "% with a random J", "loss with a random J"},
      .caption = fmt::format("Loss in nats per token without the conjugate-linear part, minus the loss of the "
                             "unchanged model ({:.4f}), with standard errors over {} tokens.",
                             text.loss, text.tokens)};
  for (const Removal& removal : text.removals) {
    const auto quarter = static_cast<std::size_t>(removal.quarter);
    table.rows.push_back({upper(std::string(1, removal.projection)),
                          quarter < kQuarters ? kQuarterNames[quarter] : "all", in_percent(removal.removed),
                          difference_text(removal.loss), in_percent(removal.removed_at_random),
                          difference_text(removal.loss_at_random)});
  }
  return table;
}

}  // namespace crope::study
