// The function space of models as numbers, figures and a page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crope/analysis/model_analysis.h"
#include "crope/base/json.h"
#include "crope/report/html_page.h"

namespace crope::study {

Json analysis_to_json(const analysis::ModelAnalysis& analysis);

// The energies of one kind of projection over all layers.
struct ProjectionSummary {
  char projection;
  bool tied;
  std::int64_t matrices;
  analysis::PauliEnergies energies;
  analysis::PauliEnergies effective;  // with the gains of the norms folded in
  analysis::RandomShare random;       // of that many matrices of that shape, taken together
};
std::vector<ProjectionSummary> summarize(const analysis::AnalyzedModel& model);

// The meaning of the shares in a few sentences: which projections are tied, and whether the dense ones differ from
// random matrices.
std::string conclusion(const analysis::AnalyzedModel& model);

// The effect of the four parts on the plane (Figure fspace).
report::Section plane_section(const std::filesystem::path& dir);

// One model: every layer, and curves where there are checkpoints.
report::Section function_space_section(const analysis::ModelAnalysis& analysis, const std::filesystem::path& dir);

// Several models beside each other, layers taken together.
struct NamedAnalysis {
  std::string label;
  analysis::ModelAnalysis analysis;
};
report::Section function_space_section(const std::vector<NamedAnalysis>& analyses, const std::filesystem::path& dir);

// analysis.json, index.html and the figures, into `dir`, which is created if missing.
void write_analysis(const analysis::ModelAnalysis& analysis, const std::filesystem::path& dir);

}  // namespace crope::study
