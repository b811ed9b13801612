// A profile as a table.
#pragma once

#include <span>
#include <string>

#include "crope/ops/profile.h"

namespace crope::cli {

// `seconds` is the total; its last row is the time in no part. Rates of products are also given as shares of `peak`
// (floating-point operations a second), unless that is 0.
std::string profile_table(std::span<const ops::ProfileRow> parts, double seconds, double peak);

}  // namespace crope::cli
