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
