#include "crope/train/sample.h"

#include <gtest/gtest.h>

#include "crope/model/init.h"

namespace crope::train {
namespace {

TEST(SampleLine, IsOneLineAndDependsOnTheSeedAlone) {
  text::Vocabulary bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.tokens.emplace_back(1, static_cast<char>(byte));
  const text::Tokenizer tokenizer(bytes);
  model::Transformer model = model::make_random_transformer(
      {.vocab_size = 256, .num_layers = 1, .num_heads = 2, .d_model = 8, .d_ff = 8, .max_seq_len = 40});
  model::set_requires_grad(model, true);
  const std::string line = sample_line(model, tokenizer, 1000, 3);
  EXPECT_FALSE(line.empty());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line, sample_line(model, tokenizer, 1000, 3));
  EXPECT_NE(line, sample_line(model, tokenizer, 1000, 4));
}

}  // namespace
}  // namespace crope::train
