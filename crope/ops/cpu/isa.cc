#include "crope/ops/cpu/isa.h"

#include <fmt/format.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"

namespace crope::ops::cpu {
namespace {

std::string name_of(std::int64_t target) {
  if (target == HWY_EMU128 || target == HWY_SCALAR) return "portable";
  if (target == HWY_AVX3) return "avx512";
  std::string name = hwy::TargetName(target);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

// Asked before anything is restricted: Highway lists no more than it is restricted to.
const std::vector<std::int64_t>& machine_targets() {
  static const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  return targets;
}

struct Settings {
  bool fused = true;
};

Settings read_environment() {
  Settings settings;
  if (const char* isa = std::getenv("CROPE_ISA"); isa != nullptr && *isa != '\0') use_instruction_set(isa);
  if (const char* fused = std::getenv("CROPE_FUSED"); fused != nullptr && *fused != '\0') {
    const std::string_view value = fused;
    if (value != "0" && value != "1") {
      throw UsageError(fmt::format("CROPE_FUSED={}: expected 0 or 1", value), "unset it to use the fused kernels");
    }
    settings.fused = value == "1";
  }
  return settings;
}

const Settings& settings() {
  static const Settings settings = read_environment();
  return settings;
}

}  // namespace

bool fused_kernels_enabled() {
  return settings().fused;
}

std::string instruction_set() {
  settings();
  return name_of(hwy::SupportedAndGeneratedTargets().front());
}

std::vector<std::string> available_instruction_sets() {
  std::vector<std::string> names;
  for (const std::int64_t target : machine_targets()) names.push_back(name_of(target));
  return names;
}

void use_instruction_set(std::string_view name) {
  for (const std::int64_t target : machine_targets()) {
    if (name_of(target) != name) continue;
    hwy::SetSupportedTargetsForTest(target);
    // Takes effect with the next dispatch; without it a choice already made would stay.
    hwy::GetChosenTarget().Update(target);
    return;
  }
  throw UsageError(fmt::format("instruction set '{}': this machine has no such kernels", name),
                   suggest(name, available_instruction_sets()));
}

}  // namespace crope::ops::cpu
