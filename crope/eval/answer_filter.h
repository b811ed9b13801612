// GSM8K's two ways to find the answer in a generated text, and the comparison with the reference.
#pragma once

#include <string>
#include <string_view>

namespace crope::eval {

// The answer of a filter that finds nothing.
inline constexpr const char* kNoAnswer = "[invalid]";

// The number behind the first "#### ".
std::string strict_match(std::string_view text);

// The last thing that looks like a number: digits with signs of money, points and commas.
std::string flexible_extract(std::string_view text);

// Equal without regard to case, commas, dollar signs, everything up to the last "#### ", and a point at the end.
bool exact_match(std::string_view prediction, std::string_view reference);

}  // namespace crope::eval
