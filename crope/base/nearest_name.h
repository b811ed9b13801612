// "Did you mean …?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace crope {

// The candidate nearest to `name` by edits (insert, delete, replace, swap of neighbours); if none is near enough to be
// a slip of the hand, the only one that has `name` in it; or "".
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// "did you mean 'x'?", or the list of what there is when nothing is near.
std::string suggest(std::string_view name, std::span<const std::string> candidates);

}  // namespace crope
