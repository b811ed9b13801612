#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "crope/base/json.h"
#include "crope/formats/safetensors.h"
#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

std::string golden_dir(const std::string& variant) {
  return std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/" + variant;
}

template <typename T>
std::vector<T> values_of(const formats::StoredTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

class ScoreCommand : public testing::TestWithParam<const char*> {};

TEST_P(ScoreCommand, GivesTheGoldenLogProbabilities) {
  const auto golden = formats::SafetensorsFile::open(golden_dir(GetParam()) + "/golden.safetensors");
  const auto tokens = values_of<std::int64_t>(golden.at("tokens"));
  const auto logits = values_of<float>(golden.at("logits"));
  const std::int64_t T = golden.at("tokens").shape[1], V = golden.at("logits").shape[2];

  std::string ids;
  for (std::int64_t t = 0; t < T; ++t) ids += (t == 0 ? "" : ",") + std::to_string(tokens[t]);
  const auto result = run_program("score " + golden_dir(GetParam()) + " --json --ids " + ids);
  ASSERT_EQ(result.status, 0) << result.err;
  const Json score = parse_json(result.out, "score");
  EXPECT_TRUE(score["logprobs"][0].is_null());
  ASSERT_EQ(score["logprobs"].size(), static_cast<std::size_t>(T));
  double nll = 0;
  for (std::int64_t t = 1; t < T; ++t) {
    const float* row = &logits[(t - 1) * V];
    double sum = 0;
    for (std::int64_t v = 0; v < V; ++v) sum += std::exp(static_cast<double>(row[v]));
    const double expected = row[tokens[t]] - std::log(sum);
    nll -= expected;
    EXPECT_NEAR(score["logprobs"][t].get<double>(), expected, 1e-5 * std::abs(expected)) << t;
  }
  EXPECT_NEAR(score["nll"].get<double>(), nll, 1e-5 * nll);
  EXPECT_NEAR(score["perplexity"].get<double>(), std::exp(nll / double(T - 1)), 1e-4 * std::exp(nll / double(T - 1)));
}

INSTANTIATE_TEST_SUITE_P(AllVariants, ScoreCommand,
                         testing::Values("rope", "crope_qk", "crope_qkv", "crope_all", "half_rope_qk", "half_rope_all"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ScoreCommandInput, BadSequencesAreUsageErrors) {
  const std::string score = "score " + golden_dir("rope");
  std::string long_ids = "1";
  for (int i = 0; i < 65; ++i) long_ids += ",1";
  for (const std::string& flags : {std::string("--ids 97"), std::string("--ids -1"), std::string("--ids 1,x"),
                                   std::string("--ids 99999999999999999999"), std::string("--ids ','"),
                                   "--ids " + long_ids, std::string(""), std::string("--ids 1 --ids-file y")}) {
    const auto result = run_program(score + " " + flags);
    EXPECT_EQ(result.status, 2) << flags << ": " << result.err;
    EXPECT_TRUE(result.out.empty());
  }
}

TEST(ScoreCommandInput, IdsFromAFileAndTheLongestSequence) {
  const test::TemporaryFolder folder;
  std::string ids;
  for (int i = 0; i < 65; ++i) ids += "1\n";  // max_seq_len + 1: the last is predicted, not fed
  write_file(folder / "ids", ids);
  const auto result =
      run_program("score " + golden_dir("crope_all") + " --json --ids-file " + (folder / "ids").string());
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(parse_json(result.out, "score")["ids"].size(), 65u);
  EXPECT_EQ(run_program("score " + golden_dir("rope") + " --ids-file " + (folder / "absent").string()).status, 1);
  EXPECT_EQ(run_program("score " + (folder / "absent").string() + " --ids 1").status, 1);
}

TEST(ScoreCommandInput, TextNeedsATokenizerBesideTheModel) {
  const auto missing = run_program("score " + golden_dir("rope") + " --text hello");
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("tokenizer.json"), std::string::npos);

  // The smallest byte-level vocabulary has 257 tokens.
  const test::TemporaryFolder folder;
  write_file(folder / "corpus.txt", "hello hello");
  ASSERT_EQ(run_program("tokenizer train " + (folder / "corpus.txt").string() + " --vocab-size 257 --out " +
                        (folder / "tokenizer").string())
                .status,
            0);
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(golden_dir("rope") + "/" + name, folder / (std::string("tokenizer/") + name));
  }
  const auto unfit = run_program("score " + (folder / "tokenizer").string() + " --text hello");
  EXPECT_EQ(unfit.status, 1);
  EXPECT_NE(unfit.err.find("257 tokens, but the model only 97"), std::string::npos) << unfit.err;
}

TEST(ScoreCommandInput, OneTokenHasNoPrediction) {
  const auto result = run_program("score " + golden_dir("rope") + " --json --ids 5");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "{\"ids\":[5],\"logprobs\":[null],\"nll\":0.0,\"perplexity\":1.0}\n");
}

}  // namespace
}  // namespace crope
