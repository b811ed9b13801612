// Readers of what others send or leave on a disk, each as one function of bytes. Linked twice: with mutants of their
// seeds in every run of the tests, and with libFuzzer (make fuzz).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crope::test {

struct FuzzTarget {
  const char* name;
  // Throws Error, or reads the bytes; anything else is a defect.
  void (*read)(std::string_view bytes);
  // Inputs that it takes, made by our own writers.
  std::vector<std::string> (*seeds)();
};

std::span<const FuzzTarget> fuzz_targets();

}  // namespace crope::test
