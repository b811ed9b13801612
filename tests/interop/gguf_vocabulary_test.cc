#include "crope/interop/gguf_vocabulary.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/formats/gguf_writer.h"
#include "tests/temporary_folder.h"

namespace crope::interop {
namespace {

formats::GgufFile file_with(const test::TemporaryFolder& folder, const formats::GgufMetadata& keys) {
  formats::write_gguf(folder / "m.gguf", keys, {});
  return formats::GgufFile::open(folder / "m.gguf");
}

TEST(GgufVocabulary, SplitsHaveTheNamesOfLlamaCpp) {
  EXPECT_STREQ(gguf_split_name(text::WordSplit::gpt2), "gpt-2");
  EXPECT_STREQ(gguf_split_name(text::WordSplit::smollm), "smollm");
  EXPECT_STREQ(gguf_split_name(text::WordSplit::llama3), "llama-bpe");
  EXPECT_STREQ(gguf_split_name(text::WordSplit::qwen2), "qwen2");
}

TEST(GgufVocabulary, TokenIdsAreReadAndChecked) {
  const test::TemporaryFolder folder;
  formats::GgufMetadata keys;
  keys.emplace_back("tokenizer.ggml.bos_token_id", std::uint32_t{1});
  keys.emplace_back("tokenizer.ggml.eos_token_id", std::uint32_t{2});
  const Json ids = gguf_token_ids(file_with(folder, keys), 3);
  EXPECT_EQ(ids.at("bos_token_id"), 1);
  EXPECT_EQ(ids.at("eos_token_id"), 2);
  EXPECT_FALSE(ids.contains("pad_token_id"));
  EXPECT_THROW(gguf_token_ids(file_with(folder, keys), 2), Error);
}

TEST(GgufVocabulary, AnotherModelIsNamed) {
  const test::TemporaryFolder folder;
  formats::GgufMetadata keys;
  keys.emplace_back("tokenizer.ggml.model", std::string("bert"));
  try {
    read_gguf_vocabulary(file_with(folder, keys));
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bert"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace crope::interop
