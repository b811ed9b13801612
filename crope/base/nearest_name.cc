#include "crope/base/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace crope {
namespace {

constexpr std::size_t kShortestPart = 3;
constexpr std::size_t kLongestName = 64;  // nobody types more by mistake, and the table grows with it

// Damerau-Levenshtein distance with adjacent swaps, over a table of (|a|+1) x (|b|+1).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = at(i - 1, j - 1) + (a[i - 1] != b[j - 1]);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

// "encode" for "enc", "--num-layers" for "--layers": the one candidate that has the word in it.
std::string only_name_with(std::string_view name, std::span<const std::string> candidates) {
  const std::string_view word = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  if (word.size() < kShortestPart) return {};
  std::string found;
  for (const std::string& candidate : candidates) {
    if (candidate.find(word) == std::string::npos) continue;
    if (!found.empty()) return {};
    found = candidate;
  }
  return found;
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() > kLongestName) return {};
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t near = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (distance <= near && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? only_name_with(name, candidates) : best;
}

std::string suggest(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  return fmt::format("there is {}", fmt::join(candidates, ", "));
}

}  // namespace crope
