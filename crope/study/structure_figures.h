// Figures and page of a model's shared complex structure.
#pragma once

#include <filesystem>
#include <vector>

#include "crope/study/structure_report.h"

namespace crope::study {

// Layer by frequency: for Q, K and V each layer's share under the structure of the layers of the other parity.
// Empty for a model of one layer.
std::vector<report::DrawnFigure> structure_maps(const PlacedStructures& model, const std::filesystem::path& dir);

// The held-out share of Q, K and V by checkpoint. Empty for a single model.
std::vector<report::DrawnFigure> structure_curves(const StructureReport& report, const std::filesystem::path& dir);

// structure.json, index.html and the figures, into `dir`, which is created if missing.
void write_structure(const StructureReport& report, const std::filesystem::path& dir);

}  // namespace crope::study
