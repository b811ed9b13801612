#include "crope/interop/hf_tokenizer.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::interop {
namespace {

TEST(HfTokenizer, FindsTheEndOfText) {
  const test::TemporaryFolder folder;
  write_file(folder / "t.json",
             R"({"added_tokens":[{"id":3,"content":"<s>"},{"id":5,"content":"<|endoftext|>"}],"model":{}})");
  EXPECT_EQ(copy_tokenizer(folder / "t.json", folder.path(), {}).end_of_text, 5);
  EXPECT_EQ(read_json(folder / "tokenizer_config.json")["model_max_length"], 512);
  EXPECT_EQ(read_json(folder / "tokenizer_config.json")["eos_token"], "<|endoftext|>");
}

TEST(HfTokenizer, WithoutOneThereAreNoSpecialTokens) {
  const test::TemporaryFolder folder;
  write_file(folder / "t.json", R"({"model":{}})");
  EXPECT_FALSE(copy_tokenizer(folder / "t.json", folder.path(), {}).end_of_text.has_value());
  write_file(folder / "t.json", "[]");
  EXPECT_THROW(copy_tokenizer(folder / "t.json", folder.path(), {}), Error);
}

}  // namespace
}  // namespace crope::interop
