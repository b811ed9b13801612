// A small model of random weights whose tokens are bytes.
#pragma once

#include <filesystem>

#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/text/byte_alphabet.h"
#include "crope/text/tokenizer_json.h"

namespace crope::test {

// A model directory with a window of 64 tokens.
inline void write_byte_model(const std::filesystem::path& dir, std::uint64_t seed = 3) {
  const model::ModelConfig config{
      .vocab_size = 260, .num_layers = 1, .num_heads = 2, .d_model = 16, .d_ff = 16, .max_seq_len = 64};
  model::save_model(model::make_random_transformer(config, {.seed = seed, .embedding_std = 0.5}), dir);
  text::Vocabulary vocabulary;
  vocabulary.tokens.emplace_back(text::kEndOfText);
  vocabulary.special_tokens.push_back({std::string(text::kEndOfText), 0});
  for (const std::uint8_t byte : text::bytes_in_vocabulary_order()) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  text::write_tokenizer_files(dir, vocabulary);
}

}  // namespace crope::test
