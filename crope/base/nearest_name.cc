#include "crope/base/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace crope {
namespace {

constexpr std::size_t kShortestPart = 3;
constexpr std::size_t kMostLongerNames = 6;
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

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// "crope_qk" and "crope_all" for "crope": the candidates that begin with the name.
std::vector<std::string> longer_names(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::string> found;
  if (without_dashes(name).size() < kShortestPart) return found;
  for (const std::string& candidate : candidates) {
    if (candidate.starts_with(name)) found.push_back(candidate);
  }
  return found;
}

// "eval" for "evaluate": the longest candidate that the name begins with.
std::string shorter_name(std::string_view name, std::span<const std::string> candidates) {
  std::string found;
  for (const std::string& candidate : candidates) {
    if (without_dashes(candidate).size() < kShortestPart || !name.starts_with(candidate)) continue;
    if (candidate.size() > found.size()) found = candidate;
  }
  return found;
}

// "--lr" for "--learning-rate": the candidate made of the first letters of the name's words.
std::string abbreviation(std::string_view name, std::span<const std::string> candidates) {
  std::string initials;
  bool starts_word = true;
  for (const char letter : without_dashes(name)) {
    const bool is_separator = letter == '-' || letter == '_';
    if (starts_word && !is_separator) initials += letter;
    starts_word = is_separator;
  }
  if (initials.size() < 2) return {};
  const auto found = std::ranges::find_if(
      candidates, [&](const std::string& candidate) { return without_dashes(candidate) == initials; });
  return found == candidates.end() ? std::string() : *found;
}

// "encode" for "enc", "--num-layers" for "--layers": the one candidate that has the word in it.
std::string only_name_with(std::string_view name, std::span<const std::string> candidates) {
  const std::string_view word = without_dashes(name);
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
  if (best.empty()) best = only_name_with(name, candidates);
  if (best.empty()) best = shorter_name(name, candidates);
  return best.empty() ? abbreviation(name, candidates) : best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::vector<std::string> longer = longer_names(name, candidates);
  if (longer.size() > 1 && longer.size() < candidates.size() && longer.size() <= kMostLongerNames) {
    return fmt::format("did you mean one of {}?", fmt::join(longer, ", "));
  }
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? std::string() : fmt::format("did you mean '{}'?", nearest);
}

std::string suggest(std::string_view name, std::span<const std::string> candidates) {
  const std::string question = did_you_mean(name, candidates);
  return question.empty() ? fmt::format("there is {}", fmt::join(candidates, ", ")) : question;
}

}  // namespace crope
