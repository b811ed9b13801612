// The complex structure that the layers of a model share, as numbers, and tables
// (crope analyze --structure).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/analysis/model_places.h"
#include "crope/analysis/structure_on_text.h"
#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/report/html_page.h"

namespace crope::study {

struct PlacedStructures {
  analysis::ModelPlace place;
  std::vector<analysis::StructureOfProjections> structures;
};

struct StructureReport {
  model::ModelConfig config;
  std::vector<PlacedStructures> models;           // one, or a run's checkpoints from the first to the last
  std::optional<analysis::StructureOnText> text;  // of the last

  const PlacedStructures& last() const { return models.back(); }
};

struct StructureRequest {
  std::filesystem::path dir;   // a model or run directory
  std::filesystem::path text;  // a text file to measure on; empty: none
  analysis::StructureOptions structure;
  analysis::TextOptions on_text;
};

// Throws Error if `dir` is neither a model nor a run, UsageError if the text cannot be measured on.
StructureReport study_structure(const StructureRequest& request, Log& log);

Json structure_to_json(const StructureReport& report);

// For people: shares in percent.
report::Table share_table(const std::vector<analysis::StructureOfProjections>& structures);
report::Table layer_table(const std::vector<analysis::StructureOfProjections>& structures);
report::Table text_table(const analysis::StructureOnText& text);
report::Table removal_table(const analysis::StructureOnText& text);

}  // namespace crope::study
