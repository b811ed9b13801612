#include "crope/eval/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/eval/benchmark_rows.h"
#include "crope/eval/journal.h"
#include "crope/eval/runner.h"
#include "crope/eval/task_list.h"
#include "tests/eval/byte_model.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

namespace fs = std::filesystem;

// A model of bytes, with benchmarks of a few items each.
class Evaluation : public testing::Test {
 protected:
  void SetUp() override {
    test::write_byte_model(folder_ / "model");
    std::string hellaswag, mmlu, gsm8k;
    for (int i = 0; i < 6; ++i) {
      const std::string n = std::to_string(i);
      hellaswag += R"({"activity_label": "A)" + n + R"(", "ctx_a": "b", "ctx_b": "c", "endings": ["x", "yy", "z)" + n +
                   R"(", "w"], "label": 0})" + "\n";
      mmlu += R"({"subject": ")" + std::string(i < 3 ? "anatomy" : "virology") + R"(", "question": "Q)" + n +
              R"(", "choices": ["a", "b", "c", "d"], "answer": 1})" + "\n";
      gsm8k += R"({"question": "How many )" + n + R"(?", "answer": "#### 3"})" + "\n";
    }
    fs::create_directories(folder_ / "data/perplexity");
    write_file(folder_ / "data/hellaswag_val.jsonl", hellaswag);
    write_file(folder_ / "data/mmlu_test.jsonl", mmlu);
    write_file(folder_ / "data/test.jsonl", gsm8k);
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i) + " é\n";
    write_file(folder_ / "data/perplexity/a.txt", text);
    write_file(folder_ / "data/perplexity/b.txt", "short");
    options_ = {.model = folder_ / "model",
                .tasks = {"hellaswag", "mmlu", "gsm8k", "perplexity"},
                .data = folder_ / "data",
                .out = folder_ / "out",
                .batch_tokens = 200,
                .batch_sequences = 3,
                .log_samples = true};
  }

  // The log-likelihoods in the sample file, in order.
  std::vector<double> hellaswag_scores() const {
    const fs::path file = folder_ / "out/samples_hellaswag.jsonl";
    std::vector<double> scores;
    for (const BenchmarkRow& row : read_benchmark_rows({file})) {
      for (const Json& pair : row.fields.at("filtered_resps")) scores.push_back(std::stod(pair[0].get<std::string>()));
    }
    return scores;
  }

  // Other batches may round otherwise.
  void expect_scores(const std::vector<double>& expected) const {
    const std::vector<double> scores = hellaswag_scores();
    ASSERT_EQ(scores.size(), expected.size());
    for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], expected[i], 1e-4) << i;
  }

  test::TemporaryFolder folder_;
  EvaluationOptions options_;
  Log log_{nullptr};
};

TEST_F(Evaluation, LeavesResultsAndSamples) {
  const Json results = evaluate(options_, log_);
  EXPECT_EQ(results, read_json(folder_ / "out/results.json"));
  EXPECT_EQ(results["results"]["hellaswag"]["sample_len"], 6);
  EXPECT_EQ(results["results"]["mmlu"]["sample_len"], 6);
  EXPECT_TRUE(results["results"]["gsm8k"].contains("exact_match_stderr,flexible-extract"));
  EXPECT_TRUE(std::isfinite(results["results"]["perplexity"]["bits_per_byte,none"].get<double>()));
  for (const char* task : {"hellaswag", "mmlu_anatomy", "mmlu_virology", "gsm8k", "perplexity"}) {
    EXPECT_TRUE(fs::exists(folder_ / (std::string("out/samples_") + task + ".jsonl"))) << task;
  }
  EXPECT_FALSE(fs::exists(folder_ / "out/eval_journal.jsonl"));
}

TEST_F(Evaluation, ItemsAddUpToTheScores) {
  options_.log_samples = false;
  const Json results = evaluate(options_, log_)["results"];
  const fs::path file = folder_ / "out/items.jsonl";
  std::map<std::string, double> scores;
  for (const BenchmarkRow& row : read_benchmark_rows({file})) {
    const auto correct = row.fields.at("correct").get<std::string>();
    scores[row.fields.at("task")] =
        static_cast<double>(std::ranges::count(correct, '1')) / static_cast<double>(correct.size());
  }
  EXPECT_EQ(scores.size(), 4u) << "perplexity has no line";
  EXPECT_DOUBLE_EQ(scores.at("hellaswag"), results["hellaswag"]["acc_norm,none"].get<double>());
  EXPECT_DOUBLE_EQ(scores.at("mmlu_anatomy"), results["mmlu_anatomy"]["acc,none"].get<double>());
  EXPECT_DOUBLE_EQ(scores.at("mmlu_virology"), results["mmlu_virology"]["acc,none"].get<double>());
  EXPECT_DOUBLE_EQ(scores.at("gsm8k"), results["gsm8k"]["exact_match,flexible-extract"].get<double>());
}

// Every token of a text is predicted once, from what lm_eval's windows show of it.
TEST_F(Evaluation, PerplexityIsTheSumOverAllWindows) {
  options_.tasks = {"perplexity"};
  const Json results = evaluate(options_, log_);
  const model::Transformer model = model::load_model(folder_ / "model", log_);
  const text::Tokenizer tokenizer = text::Tokenizer::load(folder_ / "model");
  double sum = 0, bytes = 0;
  for (const char* name : {"data/perplexity/a.txt", "data/perplexity/b.txt"}) {
    const std::string text = read_file(folder_ / name);
    bytes += static_cast<double>(text.size());
    for (const infer::ScoreRequest& window : rolling_windows(tokenizer.encode(text), 0, 64)) {
      std::vector<std::int64_t> ids(window.context.begin(), window.context.end());
      ids.insert(ids.end(), window.continuation.begin(), window.continuation.end());
      const at::Tensor losses = model::token_losses(model, at::tensor(ids, at::kLong)).to(at::kDouble);
      const auto n = static_cast<std::int64_t>(window.continuation.size());
      sum += losses.narrow(0, losses.numel() - n, n).sum().item<double>();
    }
  }
  EXPECT_NEAR(results["results"]["perplexity"]["bits_per_byte,none"].get<double>(), sum / bytes / std::log(2), 1e-5);
}

// A journal cut anywhere gives the results of an evaluation that was never disturbed.
TEST_F(Evaluation, AKilledOneContinues) {
  evaluate(options_, log_);
  const std::string samples = read_file(folder_ / "out/samples_gsm8k.jsonl");
  const std::vector<double> scores = hellaswag_scores();

  const TaskList list = load_tasks(options_.tasks, options_.data, {}, {}, log_);
  const model::Transformer model = model::load_model(folder_ / "model", log_);
  const text::Tokenizer tokenizer = text::Tokenizer::load(folder_ / "model");
  const RunnerOptions runner{.batch_tokens = 200,
                             .prefix = {tokenizer.end_of_text()},
                             .end_token = tokenizer.end_of_text(),
                             .journal = folder_ / "out/eval_journal.jsonl",
                             .model_name = model_fingerprint(folder_ / "model")};
  run_tasks(model, tokenizer, list.tasks, runner, log_);
  const std::string journal = read_file(runner.journal);
  EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 6 + 6 + 6 + 6);  // the texts have five parts and one
  for (const double share : {0.1, 0.5, 0.93}) {
    write_file(runner.journal,
               journal.substr(0, static_cast<std::size_t>(share * static_cast<double>(journal.size()))));
    evaluate(options_, log_);
    EXPECT_EQ(read_file(folder_ / "out/samples_gsm8k.jsonl"), samples);
    expect_scores(scores);
  }
}

// What stands in the journal is believed for the same model and the same question only.
TEST_F(Evaluation, AJournalOfAnotherModelIsNotTaken) {
  options_.tasks = {"hellaswag"};
  evaluate(options_, log_);
  const std::vector<double> scores = hellaswag_scores();
  const TaskList list = load_tasks(options_.tasks, options_.data, {}, {}, log_);
  const model::Transformer model = model::load_model(folder_ / "model", log_);
  model.parameters[1].value.mul_(3);
  const text::Tokenizer tokenizer = text::Tokenizer::load(folder_ / "model");
  run_tasks(model, tokenizer, list.tasks, {.journal = folder_ / "out/eval_journal.jsonl", .model_name = "another"},
            log_);
  evaluate(options_, log_);
  expect_scores(scores);
}

TEST_F(Evaluation, BatchesDoNotChangeWhatComesOut) {
  const Json small = evaluate(options_, log_)["results"];
  options_.batch_tokens = 4096;
  options_.batch_sequences = 1;
  const Json large = evaluate(options_, log_)["results"];
  for (const char* task : {"hellaswag", "mmlu", "gsm8k"}) EXPECT_EQ(small[task], large[task]);
  EXPECT_NEAR(small["perplexity"]["bits_per_byte,none"].get<double>(),
              large["perplexity"]["bits_per_byte,none"].get<double>(), 1e-6);
}

// A second task does not erase the first.
TEST_F(Evaluation, ResultsAreAddedTaskByTask) {
  options_.tasks = {"hellaswag", "mmlu_anatomy"};
  const Json first = evaluate(options_, log_);
  options_.tasks = {"gsm8k"};
  const Json second = evaluate(options_, log_);
  EXPECT_FALSE(second["results"].contains("hellaswag")) << "what is returned is of this evaluation alone";
  const Json both = read_json(folder_ / "out/results.json");
  EXPECT_EQ(both["results"]["hellaswag"], first["results"]["hellaswag"]);
  EXPECT_EQ(both["results"]["gsm8k"], second["results"]["gsm8k"]);
  EXPECT_EQ(both["n-samples"].size(), 3u);
  const std::string items = read_file(folder_ / "out/items.jsonl");
  EXPECT_EQ(std::ranges::count(items, '\n'), 3);

  // With the rest of MMLU, its groups are there as well.
  options_.tasks = {"mmlu"};
  evaluate(options_, log_);
  EXPECT_EQ(read_json(folder_ / "out/results.json")["results"]["mmlu"]["sample_len"], 6);
}

TEST_F(Evaluation, FewerItemsDoNotReplaceMoreUnlessAsked) {
  options_.tasks = {"hellaswag", "gsm8k"};
  evaluate(options_, log_);
  const std::string samples = read_file(folder_ / "out/samples_hellaswag.jsonl");
  options_.tasks = {"hellaswag", "mmlu_anatomy"};
  options_.limit = 2;
  EXPECT_EQ(evaluate(options_, log_)["results"]["hellaswag"]["sample_len"], 2);
  const Json kept = read_json(folder_ / "out/results.json");
  EXPECT_EQ(kept["results"]["hellaswag"]["sample_len"], 6);
  EXPECT_EQ(kept["results"]["mmlu_anatomy"]["sample_len"], 2);
  EXPECT_EQ(read_file(folder_ / "out/samples_hellaswag.jsonl"), samples);
  options_.overwrite = true;
  evaluate(options_, log_);
  EXPECT_EQ(read_json(folder_ / "out/results.json")["results"]["hellaswag"]["sample_len"], 2);
}

TEST_F(Evaluation, ResultsOfOtherWeightsAreReplaced) {
  options_.tasks = {"hellaswag"};
  evaluate(options_, log_);
  fs::remove_all(folder_ / "model");
  test::write_byte_model(folder_ / "model", 4);
  options_.tasks = {"gsm8k"};
  evaluate(options_, log_);
  const Json results = read_json(folder_ / "out/results.json")["results"];
  EXPECT_FALSE(results.contains("hellaswag"));
  EXPECT_TRUE(results.contains("gsm8k"));
}

TEST_F(Evaluation, BosChangesThePrompt) {
  options_.tasks = {"hellaswag"};
  evaluate(options_, log_);
  const std::string without = read_file(folder_ / "out/samples_hellaswag.jsonl");
  options_.add_bos = true;
  const Json with = evaluate(options_, log_);
  EXPECT_NE(read_file(folder_ / "out/samples_hellaswag.jsonl"), without);
  EXPECT_EQ(with["config"]["add_bos_token"], true);
  EXPECT_EQ(with["tokenizer_bos_token"][0], "<|endoftext|>");
}

// An imported model names tokens of its own in config.json.
TEST_F(Evaluation, TheModelsOwnBosStandsBeforeATextAndItsEosEndsOne) {
  options_.tasks = {"perplexity"};
  const Json before = evaluate(options_, log_);
  Json config = read_json(folder_ / "model/config.json");
  config["bos_token_id"] = 'a';
  config["eos_token_id"] = 'b';
  write_json(folder_ / "model/config.json", config);
  options_.overwrite = true;
  const Json after = evaluate(options_, log_);
  EXPECT_EQ(after["tokenizer_bos_token"][1], std::to_string(int{'a'}));
  EXPECT_EQ(after["tokenizer_eos_token"][1], std::to_string(int{'b'}));
  EXPECT_EQ(after["eot_token_id"], int{'b'});
  const auto bits = [](const Json& results) {
    return results["results"]["perplexity"]["bits_per_byte,none"].get<double>();
  };
  EXPECT_NE(bits(after), bits(before));
}

TEST_F(Evaluation, WhatDoesNotFitIsSaid) {
  const auto message = [&](const EvaluationOptions& options) -> std::string {
    try {
      evaluate(options, log_);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EvaluationOptions bad = options_;
  bad.limit = -1;
  EXPECT_THROW(evaluate(bad, log_), UsageError);
  bad = options_;
  bad.data = folder_ / "absent";
  EXPECT_NE(message(bad).find("absent"), std::string::npos) << message(bad);
  bad = options_;
  bad.out = folder_ / "model/config.json";
  EXPECT_NE(message(bad).find("config.json"), std::string::npos);

  write_file(folder_ / "data/hellaswag_val.jsonl",
             R"({"activity_label": "A", "ctx_a": "b", "ctx_b": "c", "endings": [")" + std::string(80, 'x') +
                 R"("], "label": 0})");
  EXPECT_NE(message(options_).find("hellaswag, item 0"), std::string::npos) << message(options_);
  fs::remove(folder_ / "model/tokenizer.json");
  EXPECT_NE(message(options_).find("tokenizer.json"), std::string::npos);
}

TEST_F(Evaluation, ATokenizerThatIsTooLargeDoesNotFit) {
  const model::ModelConfig config{
      .vocab_size = 97, .num_layers = 1, .num_heads = 2, .d_model = 16, .d_ff = 16, .max_seq_len = 64};
  model::save_model(model::make_random_transformer(config), folder_ / "small");
  fs::copy(folder_ / "model/tokenizer.json", folder_ / "small/tokenizer.json");
  options_.model = folder_ / "small";
  EXPECT_THROW(evaluate(options_, log_), Error);
}

}  // namespace
}  // namespace crope::eval
