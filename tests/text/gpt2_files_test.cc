#include "crope/text/gpt2_files.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/text/tokenizer_json.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

class Gpt2Files : public testing::Test {
 protected:
  Gpt2Files() {
    const Vocabulary vocabulary = small_vocabulary();
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) encoder_[spell_bytes(vocabulary.tokens[id])] = id;
    for (const Merge& merge : vocabulary.merges) {
      merges_ += spell_bytes(vocabulary.tokens[merge.left]) + " " + spell_bytes(vocabulary.tokens[merge.right]) + "\n";
    }
  }

  Vocabulary read() const {
    write_file(folder_ / "encoder.json", encoder_.dump());
    write_file(folder_ / "vocab.bpe", merges_);
    return read_gpt2_files(folder_ / "encoder.json", folder_ / "vocab.bpe");
  }

  test::TemporaryFolder folder_;
  Json encoder_ = Json::object();
  std::string merges_;
};

TEST_F(Gpt2Files, ReadsWithAndWithoutVersionLine) {
  EXPECT_EQ(read().fingerprint(), small_vocabulary().fingerprint());
  merges_ = "#version: 0.2\n" + merges_;
  EXPECT_EQ(read().fingerprint(), small_vocabulary().fingerprint());
  merges_.pop_back();
  EXPECT_EQ(read().fingerprint(), small_vocabulary().fingerprint());
}

TEST_F(Gpt2Files, ReadsTheLineEndsOfWindows) {
  std::string windows;
  for (const char each : merges_) windows += each == '\n' ? std::string("\r\n") : std::string(1, each);
  merges_ = windows;
  EXPECT_EQ(read().fingerprint(), small_vocabulary().fingerprint());
}

TEST_F(Gpt2Files, AVersionLineAloneIsNoMerges) {
  merges_ = "#version: 0.2";
  EXPECT_TRUE(read().merges.empty());
}

TEST_F(Gpt2Files, RefusesDamage) {
  const std::string merges = merges_;
  merges_ = merges + "x y z\n";
  EXPECT_THROW(read(), Error);
  merges_ = merges + "x y\n";
  EXPECT_THROW(read(), Error);
  merges_ = merges;
  encoder_["a"] = 0;
  EXPECT_THROW(read(), Error);
  encoder_ = Json::array({1, 2});
  EXPECT_THROW(read(), Error);
}

TEST_F(Gpt2Files, TheRealOnesAreTheRealTokenizerJson) {
  const auto data = test_data();
  if (!data) GTEST_SKIP() << "CROPE_TEST_DATA is not set";
  const auto folder = *data / "tokenizer/gpt2";
  const Vocabulary vocabulary = read_gpt2_files(folder / "encoder.json", folder / "vocab.bpe");
  EXPECT_EQ(vocabulary.tokens.size(), 50257u);
  EXPECT_EQ(vocabulary.merges.size(), 50000u);
  EXPECT_EQ(vocabulary.special_tokens.at(0).id, 50256);
  EXPECT_EQ(vocabulary.fingerprint(), read_tokenizer_json(folder).fingerprint());
}

}  // namespace
}  // namespace crope::text
