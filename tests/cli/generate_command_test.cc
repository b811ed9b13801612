#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "crope/base/json.h"
#include "tests/cli/trained_model.h"
#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

std::string golden_dir(const std::string& variant) {
  return std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/" + variant;
}

Json generate(const std::string& arguments) {
  const auto result = run_program("generate " + arguments + " --json");
  EXPECT_EQ(result.status, 0) << result.err;
  return result.status == 0 ? parse_json(result.out, "generate") : Json();
}

class GenerateCommand : public testing::TestWithParam<const char*> {};

TEST_P(GenerateCommand, IdsWithoutATokenizer) {
  const std::string model = golden_dir(GetParam());
  const Json greedy = generate(model + " --prompt-ids 1,2,3 --max-tokens 8");
  ASSERT_EQ(greedy["choices"].size(), 1u);
  EXPECT_EQ(greedy["choices"][0]["ids"].size(), 8u);
  EXPECT_EQ(greedy["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(greedy["prompt_tokens"], 3);

  // Each is the most likely token by crope score as well.
  std::string ids = "1,2,3";
  for (const Json& id : greedy["choices"][0]["ids"]) ids += "," + std::to_string(id.get<int>());
  const auto score = run_program("score " + model + " --json --ids " + ids);
  const Json logprobs = parse_json(score.out, "score")["logprobs"];
  for (std::size_t t = 3; t < logprobs.size(); ++t) EXPECT_GT(logprobs[t].get<double>(), -std::log(97.0));

  const auto text = run_program("generate " + model + " --prompt-ids 1,2,3 --max-tokens 8");
  std::string expected;
  for (const Json& id : greedy["choices"][0]["ids"]) expected += std::to_string(id.get<int>()) + " ";
  EXPECT_EQ(text.out, expected + "\n");
  EXPECT_NE(text.err.find("tokens/s"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(AllVariants, GenerateCommand,
                         testing::Values("rope", "crope_qk", "crope_qkv", "crope_all", "half_rope_qk", "half_rope_all"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GenerateCommandFlags, SeveralTextsHaveSeedsOfTheirOwn) {
  const std::string model = golden_dir("crope_all") + " --prompt-ids 4,5 --max-tokens 12 --temperature 1.5";
  const Json three = generate(model + " --seed 7 --n 3");
  ASSERT_EQ(three["choices"].size(), 3u);
  EXPECT_NE(three["choices"][0]["ids"], three["choices"][1]["ids"]);
  EXPECT_EQ(three["choices"][1]["ids"], generate(model + " --seed 8")["choices"][0]["ids"]);
  EXPECT_EQ(generate(model + " --seed 7 --top-k 1")["choices"][0]["ids"],
            generate(golden_dir("crope_all") + " --prompt-ids 4,5 --max-tokens 12")["choices"][0]["ids"]);
  const auto text = run_program("generate " + model + " --n 2");
  EXPECT_NE(text.out.find("--- 2 of 2 (length)"), std::string::npos) << text.out;
}

TEST(GenerateCommandFlags, TheWindowEndsASequence) {
  const Json json = generate(golden_dir("rope") + " --prompt-ids 1,2,3 --max-tokens 1000");
  EXPECT_EQ(json["choices"][0]["finish_reason"], "window");
  EXPECT_EQ(json["choices"][0]["ids"].size(), 64u - 3 + 1);
}

TEST(GenerateCommandFlags, Bf16Weights) {
  const Json json = generate(golden_dir("crope_qkv") + " --prompt-ids 1,2,3 --max-tokens 5 --weights bf16 --threads 1");
  EXPECT_EQ(json["choices"][0]["ids"].size(), 5u);
}

TEST(GenerateCommandDocuments, AreJsonLines) {
  const test::TemporaryFolder folder;
  const std::string model = "generate " + test::train_tiny_run(folder.path()),
                    file = (folder / "written.jsonl").string();
  const auto made = run_program(model + " --documents 5 --out " + file + " --seed 2 --max-tokens 9 --json");
  ASSERT_EQ(made.status, 0) << made.err;
  const Json result = parse_json(made.out, "generate");
  EXPECT_EQ(result["documents"], 5);
  EXPECT_LE(result["tokens"].get<int>(), 45);
  const std::string lines = read_file(file);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5);
  EXPECT_TRUE(parse_json(lines.substr(0, lines.find('\n')), "line")["text"].is_string());

  EXPECT_EQ(run_program(model + " --documents 5 --out " + file).status, 2) << "the file exists";
  const auto nowhere = run_program(model + " --documents 5");
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_NE(nowhere.err.find("--out FILE.jsonl"), std::string::npos) << nowhere.err;
  const auto alike = run_program(model + " --documents 5 --temperature 0 --out " + (folder / "new").string());
  EXPECT_EQ(alike.status, 2);
  EXPECT_NE(alike.err.find("all documents the same"), std::string::npos) << alike.err;
  EXPECT_EQ(run_program(model + " --prompt x --out " + (folder / "new").string()).status, 2);
}

TEST(GenerateCommandInput, BadInputIsNamed) {
  const std::string model = "generate " + golden_dir("rope");
  std::string too_long = "1";
  for (int i = 0; i < 64; ++i) too_long += ",1";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "--prompt"},
      {" --prompt-ids 97", "outside the vocabulary of 97"},
      {" --prompt-ids 1,x", "'x'"},
      {" --prompt-ids ','", "the prompt is empty"},
      {" --prompt-ids ''", "the prompt is empty"},
      {" --prompt-ids " + too_long, "a prompt of 65 tokens: this model's window has 64"},
      {" --prompt-ids 1 --temperature -1", "temperature"},
      {" --prompt-ids 1 --top-p 0", "top-p"},
      {" --prompt-ids 1 --max-tokens 0", "--max-tokens"},
      {" --prompt-ids 1 --n 0", "--n"},
      {" --prompt-ids 1 --seed -4", "--seed"},
      {" --prompt-ids 1 --weights fp8", "fp8"},
      {" --prompt-ids 1 --stop x", "stop strings need a tokenizer"},
      {" --prompt hello", "has no tokenizer.json"},
      {" --prompt x --prompt-ids 1", "--prompt"},
      {" --prompt-ids 1 --temperatur 1", "--temperature"},
  };
  for (const auto& [flags, words] : cases) {
    const auto result = run_program(model + flags);
    EXPECT_EQ(result.status, 2) << flags << ": " << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << flags << ": " << result.err;
    EXPECT_TRUE(result.out.empty()) << flags;
  }
  EXPECT_EQ(run_program("generate /nonexistent --prompt-ids 1").status, 1);
  EXPECT_EQ(run_program("chat " + golden_dir("rope")).status, 2) << "chat needs a tokenizer";
}

}  // namespace
}  // namespace crope
