#include "crope/eval/runner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/eval/byte_model.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

class Running : public testing::Test {
 protected:
  Running() : tokenizer_(load_tokenizer()), model_(model::load_model(folder_ / "model", log_)) {
    options_ = {.batch_tokens = 40, .batch_sequences = 2, .journal = folder_ / "journal.jsonl", .model_name = "m"};
    options_.prefix.token = options_.end_token = tokenizer_.end_of_text();
  }

  text::Tokenizer load_tokenizer() {
    test::write_byte_model(folder_ / "model");
    return text::Tokenizer::load(folder_ / "model");
  }

  std::vector<Response> run(const Task& task) {
    return run_tasks(model_, tokenizer_, std::span(&task, 1), options_, log_).at(0);
  }

  // The log-likelihood of `continuation` after `context`, by the model without a cache.
  double expected(const std::string& context, const std::string& continuation) {
    std::vector<std::int64_t> ids;
    for (const std::int32_t id : tokenizer_.encode(context + continuation)) ids.push_back(id);
    const std::size_t first = ids.size() > 65 ? ids.size() - 65 : 0;  // the window, and the last token predicted
    const at::Tensor losses = model::token_losses(
        model_,
        at::tensor(std::vector<std::int64_t>(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end()), at::kLong));
    const auto n = static_cast<std::int64_t>(continuation.size());
    return -losses.narrow(0, losses.numel() - n, n).to(at::kDouble).sum().item<double>();
  }

  std::ptrdiff_t journal_lines() const { return std::ranges::count(read_file(folder_ / "journal.jsonl"), '\n'); }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
  text::Tokenizer tokenizer_;
  model::Transformer model_;
  RunnerOptions options_;
};

TEST_F(Running, ScoresEachChoiceAfterItsContext) {
  Task task{.name = "t"};
  task.items.push_back({.context = "one two", .choices = {"three", "x"}});
  task.items.push_back({.context = "Ann and ", .choices = {"Bo", "Cy"}, .continuation = "left."});
  task.items.push_back({.context = std::string(90, 'q'), .choices = {"yes", "no"}});  // loses its beginning
  const auto responses = run(task);
  ASSERT_EQ(responses.size(), 3u);
  EXPECT_NEAR(responses[0].log_likelihoods[0], expected("one two", " three"), 1e-4);
  EXPECT_NEAR(responses[0].log_likelihoods[1], expected("one two", " x"), 1e-4);
  EXPECT_NEAR(responses[1].log_likelihoods[0], expected("Ann and Bo", " left."), 1e-4);
  EXPECT_NEAR(responses[1].log_likelihoods[1], expected("Ann and Cy", " left."), 1e-4);
  EXPECT_NEAR(responses[2].log_likelihoods[1], expected(std::string(90, 'q'), " no"), 1e-4);
}

// A word is right where greedy decoding gives it.
TEST_F(Running, LastWordsAreScoredAndCheckedAgainstGreedyDecoding) {
  Task generation{.name = "g", .kind = TaskKind::generation, .max_generated_tokens = 1};
  for (char c = 'a'; c <= 'z'; ++c) generation.items.push_back({.context = std::string("context ") + c});
  const auto greedy = run(generation);
  Task task{.name = "t", .kind = TaskKind::last_word};
  for (std::size_t i = 0; i < greedy.size(); ++i) {
    const std::string& text = greedy[i].text;
    if (text.size() != 1 || text[0] <= ' ') continue;  // half of a character
    task.items.push_back({.context = generation.items[i].context, .target = text});
    task.items.push_back({.context = generation.items[i].context, .target = text == "x" ? "y" : "x"});
  }
  ASSERT_GE(task.items.size(), 2u);
  const auto responses = run(task);
  for (std::size_t i = 0; i < responses.size(); ++i) {
    ASSERT_EQ(responses[i].log_likelihoods.size(), 1u);
    EXPECT_NEAR(responses[i].log_likelihoods[0], expected(task.items[i].context, task.items[i].target), 1e-4);
    EXPECT_EQ(responses[i].is_greedy[0], i % 2 == 0);
  }
}

TEST_F(Running, AnswersInTheJournalAreNotComputedAgain) {
  Task task{.name = "t"};
  for (int i = 0; i < 5; ++i) task.items.push_back({.context = "q" + std::to_string(i), .choices = {"a", "b"}});
  const auto first = run(task);
  EXPECT_EQ(journal_lines(), 5);
  model_.parameters[1].value.mul_(3);  // would change every score
  const auto again = run(task);
  EXPECT_EQ(journal_lines(), 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(again[i].log_likelihoods, first[i].log_likelihoods);
  options_.model_name = "another";
  EXPECT_NE(run(task)[0].log_likelihoods, first[0].log_likelihoods);
  EXPECT_EQ(journal_lines(), 10);
}

TEST_F(Running, ItemsThatDoNotFitAreNamed) {
  for (const std::string& word : {std::string(70, 'x'), std::string()}) {
    Task task{.name = "t", .kind = TaskKind::last_word};
    task.items = {{.context = "q", .target = "fits"}, {.context = "q", .target = word}};
    try {
      run(task);
      ADD_FAILURE() << word;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("t, item 1"), std::string::npos) << e.what();
    }
  }
}

TEST(GenerationTokens, HalfTheWindowWhereItIsSmall) {
  const Task task{.max_generated_tokens = 256};
  EXPECT_EQ(generation_tokens(task, 512), 256);
  EXPECT_EQ(generation_tokens(task, 257), 256);
  EXPECT_EQ(generation_tokens(task, 256), 128);
  EXPECT_EQ(generation_tokens(task, 64), 32);
}

TEST_F(Running, ALineOfTheJournalWithFewerScoresIsComputedAgain) {
  Task task{.name = "t"};
  task.items.push_back({.context = "q", .choices = {"a", "b"}});
  const auto first = run(task);
  Json line = parse_json(read_file(folder_ / "journal.jsonl"), "journal");
  line["log_likelihoods"].erase(1);
  line["is_greedy"].erase(1);
  write_file(folder_ / "journal.jsonl", line.dump() + "\n");
  EXPECT_EQ(run(task)[0].log_likelihoods, first[0].log_likelihoods);
}

}  // namespace
}  // namespace crope::eval
