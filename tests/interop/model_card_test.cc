#include "crope/interop/model_card.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/run/run_dir.h"
#include "tests/golden_models.h"
#include "tests/temporary_folder.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;

bool card_has(const std::string& card, std::string_view words) {
  return card.find(words) != std::string::npos;
}

// A run with checkpoints of steps 1 and 2.
void write_run(const fs::path& run) {
  for (const std::int64_t step : {1, 2}) {
    fs::create_directories(run::checkpoint_path(run, step));
    fs::copy(test::golden_folder("crope_all") / "config.json", run::checkpoint_path(run, step) / "config.json");
  }
  run::link_checkpoint(run, run::kLatestLink, 2);
  write_file(run / "run.json", R"({"train":{"steps":2,"lr":0.002},"data":{"path":"secret","train_tokens":1234567}})");
  write_file(run / "metrics.jsonl",
             "{\"step\":1,\"loss\":4.5}\n{\"step\":1,\"val_loss\":4.25}\n{\"step\":2,\"loss\":3.5}\n"
             "{\"step\":2,\"val_loss\":3.25,\"val_loss_poems\":5.5}\n");
  write_file(run / "results.json",
             R"({"results":{"hellaswag":{"alias":"hellaswag","acc,none":0.25,"acc_stderr,none":0.0125},
    "gsm8k":{"exact_match,strict-match":0.5,"exact_match_stderr,strict-match":"N/A"}}})");
}

TEST(ModelCard, OfAModelDirectory) {
  const std::string card = model_card(test::golden_folder("crope_all"), CardKind::hf);
  EXPECT_TRUE(card_has(card, "| `variant` | crope_all |")) << card;
  EXPECT_TRUE(card_has(card, "50.0% fewer than dense")) << card;
  for (const char* section : {"## Training", "## Losses", "## Scores"}) EXPECT_FALSE(card_has(card, section)) << card;
}

TEST(ModelCard, OfARun) {
  const test::TemporaryFolder folder;
  write_run(folder / "run");
  const std::string card = model_card(folder / "run", CardKind::hf_native);
  for (const char* words :
       {"| `steps` | 2 |", "| `lr` | 0.002 |", "1,234,567", "| `loss` | 3.5000 | 2 |", "| `val_loss` | 3.2500 | 2 |",
        "| `val_loss_poems` | 5.5000 | 2 |", "| hellaswag | acc | 0.2500 ± 0.0125 |",
        "| gsm8k | exact_match (strict-match) | 0.5000 |", "trust_remote_code=True"}) {
    EXPECT_TRUE(card_has(card, words)) << card;
  }
  EXPECT_FALSE(card_has(card, "secret")) << card;
}

TEST(ModelCard, OfAnEarlierCheckpointHasItsOwnLossesAndNoScoresOfTheNewest) {
  const test::TemporaryFolder folder;
  write_run(folder / "run");
  const std::string card = model_card(run::checkpoint_path(folder / "run", 1), CardKind::hf);
  EXPECT_TRUE(card_has(card, "| `loss` | 4.5000 | 1 |")) << card;
  EXPECT_TRUE(card_has(card, "| `val_loss` | 4.2500 | 1 |")) << card;
  EXPECT_FALSE(card_has(card, "3.5000")) << card;
  EXPECT_FALSE(card_has(card, "## Scores")) << card;
}

TEST(ModelCard, DamagedFilesAreReported) {
  const test::TemporaryFolder folder;
  write_run(folder / "run");
  write_file(folder / "run/results.json", "{");
  EXPECT_THROW(model_card(folder / "run", CardKind::hf), Error);
}

}  // namespace
}  // namespace crope::interop
