#include "crope/text/tokenizer_family.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/text/fixtures.h"
#include "tests/text/sentence_piece_fixture.h"

namespace crope::text {
namespace {

// A tokenizer.json of the vocabulary's family, without its tokens.
Json family_file(const Vocabulary& vocabulary) {
  Json root = tokenizer_family_json(vocabulary);
  root["model"] = {{"type", "BPE"},
                   {"ignore_merges", vocabulary.whole_words_first},
                   {"byte_fallback", vocabulary.pieces.has_value()}};
  return root;
}

TEST(TokenizerFamily, EverySplitComesBack) {
  for (const WordSplit split : {WordSplit::gpt2, WordSplit::smollm, WordSplit::llama3, WordSplit::qwen2}) {
    for (const bool compose : {false, true}) {
      Vocabulary vocabulary = small_vocabulary();
      vocabulary.split = split;
      vocabulary.compose = compose;
      vocabulary.whole_words_first = split == WordSplit::llama3;
      const TokenizerFamily family = read_tokenizer_family(family_file(vocabulary), "x");
      EXPECT_EQ(family.split, split);
      EXPECT_EQ(family.compose, compose);
      EXPECT_EQ(family.whole_words_first, vocabulary.whole_words_first);
      EXPECT_FALSE(family.sentence_pieces);
    }
  }
}

TEST(TokenizerFamily, SentencePieceComesBack) {
  for (const bool prefix : {false, true}) {
    Vocabulary vocabulary = small_pieces();
    vocabulary.pieces->add_space_prefix = prefix;
    const TokenizerFamily family = read_tokenizer_family(family_file(vocabulary), "x");
    EXPECT_TRUE(family.sentence_pieces);
    EXPECT_EQ(family.add_space_prefix, prefix);
  }
}

TEST(TokenizerFamily, OthersAreRefusedByTheirField) {
  const auto error_of = [](const Json& root) -> std::string {
    try {
      read_tokenizer_family(root, "x");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Json root = family_file(small_vocabulary());
  root["model"]["type"] = "Unigram";
  EXPECT_NE(error_of(root).find("model.type"), std::string::npos);
  root = family_file(small_vocabulary());
  root["model"]["dropout"] = 0.1;
  EXPECT_NE(error_of(root).find("model.dropout"), std::string::npos);
  root = family_file(small_vocabulary());
  root["pre_tokenizer"] = {{"type", "Whitespace"}};
  EXPECT_NE(error_of(root).find("pre_tokenizer"), std::string::npos);
}

}  // namespace
}  // namespace crope::text
