#include "crope/infer/sampled_documents.h"

#include <gtest/gtest.h>

#include <sstream>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/infer/small_model.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::infer {
namespace {

// A model over the bytes, and one token that begins and ends texts.
model::LanguageModel byte_language_model() {
  model::LanguageModel model;
  model.tokenizer.emplace(text::make_vocabulary({}));
  const model::ModelConfig config{.vocab_size = model.tokenizer->vocab_size(),
                                  .num_layers = 1,
                                  .num_heads = 2,
                                  .d_model = 24,
                                  .d_ff = 16,
                                  .max_seq_len = 40};
  model.model = model::make_random_transformer(config, {.seed = 5, .embedding_std = 0.1});
  model.begin_token = 0;
  model.end_tokens = {0, 1, 2, 3, 4, 5, 6, 7};
  return model;
}

std::vector<std::string> texts_of(const std::filesystem::path& path) {
  std::vector<std::string> texts;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) texts.push_back(parse_json(line, "line").at("text"));
  return texts;
}

TEST(SampledDocuments, AreLinesInTheOrderOfTheirSeeds) {
  const test::TemporaryFolder folder;
  const model::LanguageModel model = byte_language_model();
  Engine engine(model.model, {});
  const DocumentOptions options{.count = 21, .sampling = {.temperature = 1, .seed = 3}};
  std::int64_t tokens = 0;
  const DocumentTotals totals = write_documents(engine, model, options, folder / "a.jsonl", [&] { ++tokens; });
  EXPECT_EQ(totals.documents, 21);
  EXPECT_EQ(totals.tokens, tokens);
  EXPECT_GT(totals.ended, 0);
  EXPECT_LT(totals.ended, 21);
  const std::vector<std::string> texts = texts_of(folder / "a.jsonl");
  ASSERT_EQ(texts.size(), 21u);

  // The same seeds give the same documents, in whatever company.
  Engine again(model.model, {});
  write_documents(again, model, {.count = 2, .sampling = {.temperature = 1, .seed = 8}}, folder / "b.jsonl", [] {});
  EXPECT_EQ(texts_of(folder / "b.jsonl"), (std::vector<std::string>{texts[5], texts[6]}));
  EXPECT_NE(texts[5], texts[6]);
}

TEST(SampledDocuments, AreCutAtTheirLimit) {
  const test::TemporaryFolder folder;
  model::LanguageModel model = byte_language_model();
  model.end_tokens.clear();
  model.model.embedding[0].zero_();  // the begin token, which also ends documents, is rare
  Engine engine(model.model, {});
  const DocumentOptions options{.count = 3, .max_tokens = 7, .sampling = {.temperature = 1}};
  const DocumentTotals totals = write_documents(engine, model, options, folder / "a.jsonl", [] {});
  EXPECT_EQ(totals.tokens, 21);
  EXPECT_EQ(totals.ended, 0);
}

TEST(SampledDocuments, RefusesWhatCannotBe) {
  const test::TemporaryFolder folder;
  model::LanguageModel model = byte_language_model();
  Engine engine(model.model, {});
  write_file(folder / "old", "x");
  EXPECT_THROW(write_documents(engine, model, {}, folder / "old", [] {}), UsageError);
  EXPECT_THROW(write_documents(engine, model, {.count = 0}, folder / "new", [] {}), UsageError);
  EXPECT_THROW(write_documents(engine, model, {}, folder / "new", [] { throw Error("stop"); }), Error);
  model.begin_token.reset();
  EXPECT_THROW(write_documents(engine, model, {}, folder / "new", [] {}), UsageError);
  model.tokenizer.reset();
  EXPECT_THROW(write_documents(engine, model, {}, folder / "new", [] {}), UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
}

}  // namespace
}  // namespace crope::infer
