#include "crope/text/sentence_piece_model.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/text/tokenizer.h"
#include "tests/temporary_folder.h"
#include "tests/text/sentence_piece_fixture.h"

namespace crope::text {
namespace {

std::string refusal(const std::filesystem::path& path, const std::string& bytes) {
  write_file(path, bytes);
  try {
    read_sentence_piece_model(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(SentencePieceModel, ReadsWhatSentencePieceWrites) {
  const test::TemporaryFolder folder;
  write_file(folder / "tokenizer.model", model_bytes());
  EXPECT_EQ(read_sentence_piece_model(folder / "tokenizer.model").fingerprint(), small_pieces().fingerprint());
}

TEST(SentencePieceModel, OtherTypesAreRefusedByName) {
  const test::TemporaryFolder folder;
  EXPECT_NE(refusal(folder / "x", model_bytes(1)).find("of type unigram, expected BPE"), std::string::npos);
  EXPECT_NE(refusal(folder / "x", model_bytes(9)).find("of type unknown"), std::string::npos);
}

TEST(SentencePieceModel, DamageIsAnError) {
  const test::TemporaryFolder folder;
  const std::string whole = model_bytes();
  EXPECT_EQ(refusal(folder / "x", whole), "");
  EXPECT_NE(refusal(folder / "x", ""), "");
  for (std::size_t size = 0; size + 20 < whole.size(); size += 13) {
    EXPECT_NE(refusal(folder / "x", whole.substr(0, size)), "") << size;
  }
  EXPECT_NE(refusal(folder / "x", "\x0A" + std::string(10, '\xFF')).find("more than 64 bits"), std::string::npos);
  EXPECT_NE(refusal(folder / "x", "\x0B").find("unknown kind"), std::string::npos);
  EXPECT_NE(refusal(folder / "x", number_field(1, 3)).find("expected a text or a message"), std::string::npos);
}

}  // namespace
}  // namespace crope::text
