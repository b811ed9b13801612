// Sets of runs compared, for people.
#pragma once

#include <span>

#include "cli/text_table.h"
#include "crope/study/comparison.h"

namespace crope::cli {

// One table per text, under the text's name where there are several.
void print_comparison(std::span<const study::ComparedText> texts, TableStyle style);

// A blank line, the table of study::overview_of_sets, and its caption.
void print_overview(const report::Table& overview, TableStyle style);

}  // namespace crope::cli
