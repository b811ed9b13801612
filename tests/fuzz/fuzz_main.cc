// libFuzzer's side of the targets: CROPE_FUZZ_TARGET names one. With CROPE_FUZZ_SEEDS=DIR, the seeds of all targets are
// written into folders there, and that is all.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "crope/base/error.h"
#include "tests/fuzz/targets.h"

namespace {

using crope::test::FuzzTarget;

const FuzzTarget* target = nullptr;

void write_seeds(const std::filesystem::path& folder) {
  for (const FuzzTarget& each : crope::test::fuzz_targets()) {
    std::filesystem::create_directories(folder / each.name);
    int number = 0;
    for (const std::string& seed : each.seeds()) {
      std::ofstream(folder / each.name / ("seed_" + std::to_string(number++)), std::ios::binary) << seed;
    }
    std::printf("%s\n", each.name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("CROPE_FUZZ_SEEDS")) {
    write_seeds(folder);
    std::exit(0);
  }
  const char* name = std::getenv("CROPE_FUZZ_TARGET");
  for (const FuzzTarget& each : crope::test::fuzz_targets()) {
    if (name != nullptr && std::string(name) == each.name) target = &each;
  }
  if (target == nullptr) {
    std::fprintf(stderr, "CROPE_FUZZ_TARGET must name a target\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    target->read({reinterpret_cast<const char*>(data), size});
  } catch (const crope::Error&) {
    // a refusal
  }
  return 0;
}
