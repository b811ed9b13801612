// "Did you mean …?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace crope {

// The candidate nearest to `name` by edits (insert, delete, replace, swap of neighbours). If none is near enough to be
// a slip of the hand: the only one that contains `name`, the longest one that `name` begins with, or the one spelled by
// the first letters of its words ("--lr" for "--learning-rate"). Otherwise "".
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// "did you mean 'x'?", "did you mean one of x_1, x_2?" where several candidates begin with `name`, or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

// did_you_mean(), or the list of all candidates when nothing is near.
std::string suggest(std::string_view name, std::span<const std::string> candidates);

}  // namespace crope
