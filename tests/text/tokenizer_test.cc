#include "crope/text/tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "crope/base/error.h"
#include "crope/base/json.h"
#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

using Ids = std::vector<std::int32_t>;

Tokenizer small_tokenizer() {
  return Tokenizer(small_vocabulary());
}

TEST(Tokenizer, EncodesAndDecodes) {
  const Tokenizer tokenizer = small_tokenizer();
  const Ids ids = tokenizer.encode("hello the");
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(tokenizer.token_bytes(ids[0]), "hell");
  EXPECT_EQ(tokenizer.token_bytes(ids[2]), " the");
  EXPECT_EQ(tokenizer.decode(ids), "hello the");
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  EXPECT_EQ(tokenizer.find_token(" the"), ids[2]);
  EXPECT_EQ(tokenizer.find_token("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer.vocab_size(), 264);
  EXPECT_EQ(tokenizer.end_of_text(), 0);
}

TEST(Tokenizer, AppendsToWhatIsThere) {
  Ids ids = {5};
  small_tokenizer().encode_append(" the", ids);
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0], 5);
}

TEST(Tokenizer, SpecialTokensAreTextUnlessAskedFor) {
  Vocabulary vocabulary = small_vocabulary();
  vocabulary.special_tokens.push_back({"<|endoftext|>!", static_cast<std::int32_t>(vocabulary.tokens.size())});
  vocabulary.tokens.emplace_back("<|endoftext|>!");
  const Tokenizer tokenizer(vocabulary);
  const std::string text = "a<|endoftext|> the<|endoftext|>!<|endof";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(std::ranges::count(tokenizer.encode(text), 0), 0);
  const Ids ids = tokenizer.encode_with_special(text);
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_EQ(ids[1], 0);
  EXPECT_EQ(ids[2], tokenizer.find_token(" the"));
  EXPECT_EQ(ids[3], 264);
  EXPECT_EQ(tokenizer.encode_with_special("<|endoftext|>"), Ids{0});
}

TEST(Tokenizer, AnyBytesComeBack) {
  const Tokenizer tokenizer = small_tokenizer();
  std::mt19937 random(8);
  for (int round = 0; round < 3000; ++round) {
    std::string text = random_text(random, random() % 40);
    if (round % 3 == 0) {
      for (char& byte : text) byte = static_cast<char>(random());
    }
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << testing::PrintToString(text);
    ASSERT_EQ(tokenizer.decode(tokenizer.encode_with_special(text)), text);
  }
  const std::string all_invalid(100, '\xFF');
  EXPECT_EQ(tokenizer.encode(all_invalid).size(), 100u);
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_THROW(tokenizer.decode(Ids{1, 264}), Error);
  EXPECT_THROW(tokenizer.decode(Ids{-1}), Error);
  EXPECT_THROW(tokenizer.token_bytes(INT32_MAX), Error);
}

TEST(Tokenizer, RefusesABrokenVocabulary) {
  Vocabulary vocabulary = small_vocabulary();
  vocabulary.tokens.pop_back();
  EXPECT_THROW(Tokenizer{vocabulary}, Error);
}

TEST(Tokenizer, WithoutASpecialTokenThereIsNoEndOfText) {
  Vocabulary vocabulary = small_vocabulary();
  vocabulary.special_tokens.clear();
  EXPECT_EQ(Tokenizer(vocabulary).end_of_text(), std::nullopt);
}

TEST(Tokenizer, ThreadsDoNotChangeTheResult) {
  const Tokenizer tokenizer = small_tokenizer();
  std::mt19937 random(9);
  std::vector<std::string> texts;
  std::string all;
  for (int i = 0; i < 500; ++i) all += texts.emplace_back(random_text(random, 200));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<Ids> expected;
  for (const std::string& text : texts) expected.push_back(small_tokenizer().encode(text));
  for (const int threads : {1, 2, 7}) {
    EXPECT_EQ(tokenizer.encode_batch(views, threads), expected);
    EXPECT_EQ(tokenizer.encode_parallel(all, threads), tokenizer.encode(all));
  }
  EXPECT_EQ(tokenizer.encode_parallel("", 2), Ids{});
}

TEST(Tokenizer, IsSharedByThreads) {
  const Tokenizer tokenizer = small_tokenizer();
  std::vector<std::jthread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&tokenizer, &count = wrong[i], i] {
      std::mt19937 random(static_cast<unsigned>(i % 2));
      for (int round = 0; round < 500; ++round) {
        const std::string text = random_text(random, 50);
        count += tokenizer.decode(tokenizer.encode(text)) != text;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

class Gpt2 : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_data()) GTEST_SKIP() << "CROPE_TEST_DATA is not set";
    folder_ = *test_data() / "tokenizer/gpt2";
  }

  std::filesystem::path folder_;
};

TEST_F(Gpt2, GivesTheKnownEncodings) {
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.end_of_text(), 50256);
  std::ifstream file(folder_ / "expected_encodings.jsonl");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const Json json = parse_json(line, "expected_encodings.jsonl");
    const std::string text = json["text"];
    const Ids ids = json["ids"];
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  EXPECT_EQ(lines, 970);
}

TEST_F(Gpt2, GivesTheVectorsOfLlamaCpp) {
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  std::ifstream inputs(folder_ / "ggml-vocab-gpt-2.gguf.inp"), outputs(folder_ / "ggml-vocab-gpt-2.gguf.out");
  std::stringstream buffer;
  buffer << inputs.rdbuf();
  const std::string all = buffer.str(), separator = "\n__ggml_vocab_test__\n";
  int cases = 0;
  for (std::size_t begin = 0; begin < all.size(); ++cases) {
    const std::size_t end = all.find(separator, begin);
    const std::string text = all.substr(begin, end == std::string::npos ? end : end - begin);
    begin = end == std::string::npos ? all.size() : end + separator.size();
    std::string line;
    ASSERT_TRUE(std::getline(outputs, line));
    std::istringstream numbers(line);
    const Ids expected{std::istream_iterator<std::int32_t>(numbers), {}};
    EXPECT_EQ(tokenizer.encode(text), expected) << testing::PrintToString(text);
  }
  std::string line;
  EXPECT_FALSE(std::getline(outputs, line)) << "more outputs than inputs";
  EXPECT_GT(cases, 40);
}

// Thousands of special tokens that begin alike: the longest one wins, and the time does not grow with their number.
TEST(Tokenizer, ManySpecialTokensThatBeginAlike) {
  Vocabulary vocabulary = small_vocabulary();
  const auto add = [&](const std::string& content) {
    vocabulary.special_tokens.push_back({content, static_cast<std::int32_t>(vocabulary.tokens.size())});
    vocabulary.tokens.push_back(content);
    return vocabulary.special_tokens.back().id;
  };
  const std::int32_t open = add("<|<"), longer = add("<|<<<"), accent = add("<|\u00e9");
  for (int i = 0; i < 5000; ++i) add("<|special_" + std::to_string(i) + "|>");
  const Tokenizer tokenizer(vocabulary);
  const auto special = [&](std::string_view text) { return tokenizer.encode_with_special(text); };
  EXPECT_EQ(special("<|<"), std::vector{open});
  EXPECT_EQ(special("<|<<").front(), open);
  EXPECT_EQ(special("<|<<<"), std::vector{longer});
  EXPECT_EQ(special("<|\u00e9<|<"), (std::vector{accent, open}));
  EXPECT_EQ(special("<|special_4999|>").size(), 1u);
  EXPECT_EQ(special("<|special_").size(), tokenizer.encode("<|special_").size());
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += "<|";
  EXPECT_EQ(tokenizer.decode(special(many)), many);
}

}  // namespace
}  // namespace crope::text
