// What tests ask about a figure.
#pragma once

#include <string>

#include "crope/report/figure.h"

namespace crope::test {

inline bool has(const report::Figure& figure, const std::string& words) {
  return figure.commands.find(words) != std::string::npos;
}

}  // namespace crope::test
