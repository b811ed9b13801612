// Sets of runs compared, for people.
#pragma once

#include <span>

#include "cli/text_table.h"
#include "crope/study/comparison.h"

namespace crope::cli {

// One table per text, under the text's name where there are several.
void print_comparison(std::span<const study::ComparedText> texts, TableStyle style);

}  // namespace crope::cli
