#include "crope/train/validation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "crope/text/tokenizer_json.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

using model::Transformer;

Transformer make_validated_model(std::int64_t vocab_size) {
  return model::make_random_transformer(
      {.vocab_size = vocab_size, .num_layers = 1, .num_heads = 2, .d_model = 8, .d_ff = 8});
}

TEST(Validation, IsTheMeanOverAFixedSetHoweverItIsCut) {
  const TinyRun tiny;
  const data::DataDir data = data::open_data_dir(tiny.data());
  const Transformer model = make_validated_model(50);
  const Validation all(data, 50, {.seq_len = 8, .micro_batch_size = 37});
  EXPECT_EQ(all.rows(), 37u);
  const data::TokenRows rows(data.val, 8, 50);
  std::vector<std::int64_t> ids = rows.read_range(0, 37);
  const double expected = model::loss(model, at::from_blob(ids.data(), {37, 9}, at::kLong)).item<double>();
  EXPECT_NEAR(all.run(model).loss, expected, 1e-5);
  EXPECT_NEAR(Validation(data, 50, {.seq_len = 8, .micro_batch_size = 5}).run(model).loss, expected, 1e-5);
  EXPECT_EQ(Validation(data, 50, {.seq_len = 8, .rows = 3}).rows(), 3u);
  EXPECT_THROW(Validation(data, 50, {.seq_len = 300}), Error);
}

// The last step is always validated, and the final phase counts back from it.
TEST(Validation, StepsThatAreDue) {
  const auto steps = [](const TrainConfig& config) {
    std::vector<std::int64_t> due;
    for (std::int64_t step = 1; step <= config.steps; ++step) {
      if (validation_is_due(config, step)) due.push_back(step);
    }
    EXPECT_EQ(count_validations(config), static_cast<std::int64_t>(due.size()));
    return due;
  };
  using Steps = std::vector<std::int64_t>;
  TrainConfig config{.steps = 30, .validate_every = 8};
  EXPECT_EQ(steps(config), (Steps{8, 16, 24, 30}));
  config.validate_final_steps = 7;
  EXPECT_EQ(steps(config), (Steps{8, 16, 24, 30})) << "without --validate-final-every the phase is as the rest";
  config.validate_final_every = 3;
  EXPECT_EQ(steps(config), (Steps{8, 16, 24, 27, 30})) << "24 belongs to both and is counted once";
  config.validate_final_every = 2;
  EXPECT_EQ(steps(config), (Steps{8, 16, 24, 26, 28, 30}));
  config.validate_final_steps = 100;
  config.validate_final_every = 10;
  EXPECT_EQ(steps(config), (Steps{8, 10, 16, 20, 24, 30})) << "a phase longer than the run";
  config.validate_every = 15;
  config.validate_final_steps = 0;
  EXPECT_EQ(steps(config), (Steps{15, 30})) << "the last step is not counted twice";
  config.validate_every = 0;
  config.validate_final_steps = 7;
  EXPECT_EQ(steps(config), Steps{}) << "0 turns validation off, the final phase included";
}

TEST(Validation, ATextWithoutAValidationPartIsTakenWhole) {
  const TinyRun tiny;
  const data::DataDir both = data::open_data_dir(tiny.data());
  EXPECT_EQ(held_out_text(both).val, both.val);
  std::filesystem::remove(tiny.data() / "val_000000.bin");
  const data::DataDir whole = held_out_text(data::open_data_dir(tiny.data()));
  EXPECT_EQ(whole.val, both.train);
  EXPECT_EQ(Validation(whole, 50, {.seq_len = 8}).rows(), (4000u - 1) / 8);
}

// Where the tokenizer is beside the shards, bytes are counted: with one byte a token, bits per byte are bits per token.
TEST(Validation, BitsPerByteCountTheBytesOfTheTokens) {
  const TinyRun tiny;
  text::Vocabulary bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.tokens.emplace_back(1, static_cast<char>(byte));
  text::write_tokenizer_files(tiny.data(), bytes);
  const Transformer model = make_validated_model(256);
  const ValidationResult result = Validation(data::open_data_dir(tiny.data()), 256, {.seq_len = 8}).run(model);
  ASSERT_TRUE(result.bits_per_byte);
  EXPECT_NEAR(*result.bits_per_byte, result.loss / std::numbers::ln2, 1e-9);
}

}  // namespace
}  // namespace crope::train
