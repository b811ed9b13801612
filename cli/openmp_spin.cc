#include "cli/openmp_spin.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace crope::cli {
namespace {

// Commands that compute for so long that a second start does not matter.
constexpr std::array<std::string_view, 8> kLongCommands = {"train", "quickstart", "reproduce", "eval",
                                                           "serve", "chat",       "generate",  "bench"};
// Rounds of a waiting loop: some ten microseconds, which is as fast as any number on an idle machine
// (docs/benchmarks.md).
constexpr const char* kSpinCount = "2000";

}  // namespace

void bound_openmp_spin(char** argv) {
  if (argv[0] == nullptr || argv[1] == nullptr || std::ranges::find(kLongCommands, argv[1]) == kLongCommands.end())
    return;
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::error_code code;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code || ::setenv("GOMP_SPINCOUNT", kSpinCount, 1) != 0) return;
  ::execv(program.c_str(), argv);
}

}  // namespace crope::cli
