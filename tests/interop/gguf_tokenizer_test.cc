#include "crope/interop/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/text/tokenizer_json.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::interop {
namespace {

using formats::GgufMetadata;
using formats::GgufValue;

const GgufValue* value_of(const GgufMetadata& keys, const std::string& name) {
  for (const auto& [key, value] : keys) {
    if (key == "tokenizer.ggml." + name) return &value;
  }
  return nullptr;
}

template <typename T>
T get(const GgufMetadata& keys, const std::string& name) {
  return std::get<T>(*value_of(keys, name));
}

class GgufTokenizer : public testing::Test {
 protected:
  GgufTokenizer() { config_.vocab_size = 260; }

  GgufMetadata keys() { return gguf_tokenizer_keys(folder_.path(), config_, log_); }

  test::TemporaryFolder folder_;
  model::ModelConfig config_;
  Log log_{nullptr};
};

TEST_F(GgufTokenizer, TokensKindsAndMerges) {
  text::write_tokenizer_files(folder_.path(), text::make_vocabulary({{" ", "a"}}));  // 258 tokens
  const GgufMetadata all = keys();
  EXPECT_EQ(get<std::string>(all, "model"), "gpt2");
  EXPECT_EQ(get<std::string>(all, "pre"), "gpt-2");
  const auto tokens = get<std::vector<std::string>>(all, "tokens");
  const auto kinds = get<std::vector<std::int32_t>>(all, "token_type");
  ASSERT_EQ(tokens.size(), 260u);
  ASSERT_EQ(kinds.size(), 260u);
  EXPECT_EQ(tokens[0], "<|endoftext|>");
  EXPECT_EQ(kinds[0], 3);
  EXPECT_EQ(tokens[257],
            "\xC4\xA0"  // the character for a space
            "a");
  EXPECT_EQ(kinds[257], 1);
  EXPECT_EQ(tokens[259], "[PAD259]");
  EXPECT_EQ(kinds[259], 5);
  EXPECT_EQ(get<std::vector<std::string>>(all, "merges"), (std::vector<std::string>{"\xC4\xA0 a"}));
  EXPECT_EQ(get<std::uint32_t>(all, "bos_token_id"), 0u);
  EXPECT_EQ(get<std::uint32_t>(all, "eos_token_id"), 0u);
  EXPECT_FALSE(get<bool>(all, "add_bos_token"));
}

TEST_F(GgufTokenizer, IdsOfTheConfigurationComeFirst) {
  text::write_tokenizer_files(folder_.path(), text::make_vocabulary({}));
  config_.other_keys = {{"bos_token_id", 7}, {"eos_token_id", {9, 8}}};
  EXPECT_EQ(get<std::uint32_t>(keys(), "bos_token_id"), 7u);
  EXPECT_EQ(get<std::uint32_t>(keys(), "eos_token_id"), 9u);
  config_.other_keys = {{"eos_token_id", 1 << 20}};  // not a token
  EXPECT_EQ(get<std::uint32_t>(keys(), "eos_token_id"), 0u);
}

TEST_F(GgufTokenizer, AddedTokensThatAreOrdinaryText) {
  text::write_tokenizer_files(folder_.path(), text::make_vocabulary({}));
  std::string json = read_file(folder_ / "tokenizer.json");
  const std::string flag = "\"special\": true";
  json.replace(json.find(flag), flag.size(), "\"special\": false");
  write_file(folder_ / "tokenizer.json", json);
  EXPECT_EQ(get<std::vector<std::int32_t>>(keys(), "token_type")[0], 4);
}

TEST_F(GgufTokenizer, FilledUpNamesAreNotTakenTwice) {
  text::Vocabulary vocabulary = text::make_vocabulary({});
  vocabulary.tokens.emplace_back("[PAD259]");
  vocabulary.special_tokens.push_back({"[PAD259]", 257});
  text::write_tokenizer_files(folder_.path(), vocabulary);
  const auto tokens = get<std::vector<std::string>>(keys(), "tokens");
  EXPECT_EQ(tokens[257], "[PAD259]");
  EXPECT_EQ(tokens[259], "[PAD259]_");
}

TEST_F(GgufTokenizer, WithoutOneOrOfAnotherFamily) {
  EXPECT_EQ(get<std::string>(keys(), "model"), "no_vocab");
  write_file(folder_ / "tokenizer.json", R"({"model":{"type":"Unigram"}})");
  EXPECT_EQ(get<std::string>(keys(), "model"), "no_vocab");
  EXPECT_EQ(keys().size(), 1u);
}

TEST_F(GgufTokenizer, MoreTokensThanTheModelHas) {
  text::write_tokenizer_files(folder_.path(), text::make_vocabulary({}));
  config_.vocab_size = 256;
  EXPECT_THROW(keys(), Error);
}

}  // namespace
}  // namespace crope::interop
