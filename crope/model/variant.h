// The six attention variants of the paper, as one table (its Figure param_counts).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"

namespace crope::model {

enum class Variant { rope, crope_qk, crope_qkv, crope_all, half_rope_qk, half_rope_all };

struct VariantTraits {
  Variant variant;
  std::string_view name;
  bool ties_qk;    // Q and K are complex-linear
  bool ties_v;     // V is
  bool ties_o;     // the output projection is
  bool halves_qk;  // Q and K heads are half as wide
  bool halves_v;   // V heads are, and the input of the output projection
};

inline constexpr std::array<VariantTraits, 6> kVariants = {{
    {Variant::rope, "rope", false, false, false, false, false},
    {Variant::crope_qk, "crope_qk", true, false, false, false, false},
    {Variant::crope_qkv, "crope_qkv", true, true, false, false, false},
    {Variant::crope_all, "crope_all", true, true, true, false, false},
    {Variant::half_rope_qk, "half_rope_qk", false, false, false, true, false},
    {Variant::half_rope_all, "half_rope_all", false, false, false, true, true},
}};

constexpr const VariantTraits& traits(Variant variant) {
  return kVariants[static_cast<std::size_t>(variant)];
}

// Throws UsageError with the nearest name if there is no such variant.
inline Variant variant_by_name(std::string_view name) {
  std::vector<std::string> names;
  for (const VariantTraits& row : kVariants) {
    if (row.name == name) return row.variant;
    names.emplace_back(row.name);
  }
  throw UsageError("unknown variant '" + std::string(name) + "'", suggest(name, names));
}

}  // namespace crope::model
