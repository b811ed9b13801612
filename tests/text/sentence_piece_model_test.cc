#include "crope/text/sentence_piece_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/text/tokenizer.h"
#include "tests/temporary_folder.h"
#include "tests/text/sentence_piece_fixture.h"

namespace crope::text {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

std::string bytes_field(int field, const std::string& data) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(data.size()) + data;
}

std::string number_field(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}

// The message that SentencePiece would write for the fixture.
std::string model_bytes(std::uint64_t type = 2) {
  const Vocabulary vocabulary = small_pieces();
  std::string model;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    std::string spelling = vocabulary.tokens[id];
    const std::uint64_t kind = id == 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1;
    if (kind == 6) {
      char hex[8];
      std::snprintf(hex, sizeof(hex), "<0x%02X>", static_cast<unsigned>(id - 3));
      spelling = hex;
    }
    for (std::size_t at = spelling.find(' '); kind == 1 && at != std::string::npos; at = spelling.find(' ')) {
      spelling.replace(at, 1, "\xE2\x96\x81");
    }
    std::string score(4, '\0');
    std::memcpy(score.data(), &vocabulary.pieces->scores[id], 4);
    model += bytes_field(1, bytes_field(1, spelling) + "\x15" + score + number_field(3, kind));
  }
  model += bytes_field(2, number_field(3, type) + bytes_field(9, "ignored"));
  return model + bytes_field(3, bytes_field(1, "identity") + number_field(3, 1));
}

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
