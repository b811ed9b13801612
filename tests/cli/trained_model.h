// A tiny run with a tokenizer, made by the program itself.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/run_program.h"

namespace crope::test {

inline constexpr const char* kTinyShape = " --num-layers 1 --num-heads 2 --d-model 16 --d-ff 16 --seq-len 32";
inline constexpr const char* kTinySteps =
    " --batch-size 4 --warmup-steps 2 --validate-every 0 --checkpoint-every 0 --threads 1";

// Leaves text.txt, the data directory `data` and a run of three steps in `folder`, and returns the run.
inline std::string train_tiny_run(const std::filesystem::path& folder) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "The sea sees the bee, and bee " + std::to_string(i) + " sees the sea.\n";
  write_file(folder / "text.txt", text);
  const std::string at = folder.string();
  for (const std::string& command :
       {"tokenizer train " + at + "/text.txt --vocab-size 257 --out " + at + "/tokenizer",
        "data prepare " + at + "/text.txt --tokenizer " + at + "/tokenizer --out " + at + "/data",
        "train --data " + at + "/data --out " + at + "/run --steps 3 --max-seq-len 64" + kTinyShape + kTinySteps}) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 0) << command << "\n" << result.err;
  }
  return at + "/run";
}

}  // namespace crope::test
