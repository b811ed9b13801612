// Tokenizers of mutants: refused, or good for any bytes.
#include <gtest/gtest.h>

#include <array>

#include "crope/base/file.h"
#include "crope/text/gpt2_files.h"
#include "crope/text/sentence_piece_model.h"
#include "crope/text/tokenizer.h"
#include "crope/text/tokenizer_json.h"
#include "tests/fuzz/mutation.h"
#include "tests/text/fixtures.h"
#include "tests/text/sentence_piece_fixture.h"

namespace crope {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 14> kTokenizerWords = {"\"merges\"",
                                                              "\"vocab\"",
                                                              "\"added_tokens\"",
                                                              "\"BPE\"",
                                                              "\"ByteLevel\"",
                                                              "\"type\"",
                                                              "true",
                                                              "false",
                                                              "null",
                                                              "[",
                                                              "]",
                                                              "{",
                                                              "}",
                                                              "\\u0120"};

// Whatever vocabulary is taken gives every text back whose bytes it has.
void use(const text::Tokenizer& tokenizer) {
  constexpr std::string_view kText = "Hello low lower 123 \xff<|endoftext|> \xc3\xa9\n\n";
  const auto ids = tokenizer.encode(kText);
  for (const char byte : kText) {
    if (!tokenizer.find_token(std::string_view(&byte, 1))) return;
  }
  EXPECT_EQ(tokenizer.decode(ids), kText);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode_with_special(kText)), kText);
}

TEST(Fuzz, TokenizerJson) {
  const test::TemporaryFolder folder;
  text::write_tokenizer_files(folder.path(), text::small_vocabulary());
  test::fuzz_file("tokenizer.json", read_file(folder / "tokenizer.json"), kTokenizerWords,
                  [](const fs::path& path) { use(text::Tokenizer::load(path)); });
}

TEST(Fuzz, SentencePieceTokenizerJson) {
  const test::TemporaryFolder folder;
  text::write_tokenizer_files(folder.path(), text::small_pieces());
  test::fuzz_file("tokenizer.json", read_file(folder / "tokenizer.json"), kTokenizerWords,
                  [](const fs::path& path) { text::Tokenizer::load(path).encode("the thing \xff \xc3\xbc"); });
}

TEST(Fuzz, SentencePieceModel) {
  constexpr std::array<std::string_view, 4> kMessageWords = {"\x0a", "\x12", "\x18\x02", "<0x41>"};
  test::fuzz_file("tokenizer.model", text::model_bytes(), kMessageWords,
                  [](const fs::path& path) { text::read_sentence_piece_model(path); });
}

TEST(Fuzz, Gpt2Files) {
  const test::TemporaryFolder folder;
  text::write_tokenizer_files(folder.path(), text::small_vocabulary());
  const Json model = read_json(folder / "tokenizer.json").at("model");
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : model.at("merges")) merges += merge.get<std::string>() + "\n";
  const std::string encoder = model.at("vocab").dump();
  write_file(folder / "encoder.json", encoder);
  write_file(folder / "vocab.bpe", merges);
  test::fuzz_file("encoder.json", encoder, kTokenizerWords, [&](const fs::path& path) {
    use(text::Tokenizer(text::read_gpt2_files(path, folder / "vocab.bpe")));
  });
  test::fuzz_file("vocab.bpe", merges, kTokenizerWords, [&](const fs::path& path) {
    use(text::Tokenizer(text::read_gpt2_files(folder / "encoder.json", path)));
  });
}

}  // namespace
}  // namespace crope
