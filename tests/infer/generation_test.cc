#include "crope/infer/generation.h"

#include "crope/base/error.h"
#include "crope/base/utf8.h"
#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

using test::draw_ids;
using test::small_model;
using Ids = std::vector<std::int32_t>;

// 256 bytes and <|endoftext|>: more tokens than the small model has, so its vocabulary is larger here.
text::Tokenizer byte_tokenizer() {
  text::Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.tokens.emplace_back(text::kEndOfText);
  vocabulary.special_tokens.push_back({std::string(text::kEndOfText), 256});
  return text::Tokenizer(vocabulary);
}

model::Transformer byte_model() {
  const model::ModelConfig config{.vocab_size = 264,
                                  .num_layers = 2,
                                  .num_heads = 2,
                                  .d_model = 16,
                                  .d_ff = 24,
                                  .max_seq_len = 96,
                                  .variant = model::Variant::crope_all};
  return model::make_random_transformer(config, {.seed = 9, .embedding_std = 0.7});
}

std::vector<Generation> run(const model::Transformer& model, const text::Tokenizer* tokenizer,
                            const std::vector<GenerationRequest>& requests, const GenerationOptions& options = {}) {
  std::vector<Generation> results(requests.size());
  std::vector<std::string> streamed(requests.size());
  std::vector<Ids> ids(requests.size());
  generate(model, tokenizer, requests, options,
           {.on_token =
                [&](std::size_t index, std::int32_t id, std::string_view text) {
                  ids[index].push_back(id);
                  streamed[index] += text;
                  EXPECT_EQ(valid_utf8_prefix(text), text.size()) << "a split character";
                },
            .on_done =
                [&](std::size_t index, const Generation& result) {
                  EXPECT_EQ(results[index].finish, FinishReason::none) << "done twice";
                  results[index] = result;
                }});
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_NE(results[i].finish, FinishReason::none);
    EXPECT_EQ(ids[i], results[i].ids);
    EXPECT_TRUE(results[i].text.starts_with(streamed[i])) << "what was streamed is the beginning of the text";
  }
  return results;
}

TEST(Generation, WhatASequenceGetsDoesNotDependOnTheOthers) {
  const model::Transformer model = byte_model();
  const text::Tokenizer tokenizer = byte_tokenizer();
  std::vector<GenerationRequest> requests;
  for (std::uint64_t i = 0; i < 7; ++i) {
    requests.push_back({.prompt = draw_ids(i, 2 + 5 * i),
                        .max_tokens = 20 + static_cast<std::int64_t>(i),
                        .sampling = {.temperature = i % 2 == 0 ? 0.0 : 0.9, .top_p = 0.9, .seed = i}});
  }
  const auto single = run(model, &tokenizer, requests, {.batch_size = 1});
  const auto batched = run(model, &tokenizer, requests, {.engine = {.prefill_tokens = 9}, .batch_size = 4});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(single[i].ids, batched[i].ids) << i;
    EXPECT_EQ(single[i].text, batched[i].text) << i;
    EXPECT_EQ(single[i].ids.size(), 20 + i);
  }
}

TEST(Generation, StopStringsEndTheText) {
  const model::Transformer model = byte_model();
  const text::Tokenizer tokenizer = byte_tokenizer();
  GenerationRequest request{.prompt = {1, 2, 3}, .max_tokens = 40, .sampling = {.temperature = 1, .seed = 4}};
  const Generation whole = run(model, &tokenizer, {request})[0];
  ASSERT_GT(whole.text.size(), 12u);
  // A piece of what comes, over several tokens: from a character's begin to another's.
  std::size_t begin = 6, end = 10;
  while (valid_utf8_prefix(whole.text.substr(0, begin)) < begin) ++begin;
  while (end <= begin || valid_utf8_prefix(whole.text.substr(0, end)) < end) ++end;
  request.stop = {"never there", whole.text.substr(begin, end - begin)};
  const Generation stopped = run(model, &tokenizer, {request})[0];
  EXPECT_EQ(stopped.finish, FinishReason::stop);
  EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(request.stop[1])));
  EXPECT_LT(stopped.ids.size(), whole.ids.size());
  EXPECT_TRUE(std::equal(stopped.ids.begin(), stopped.ids.end(), whole.ids.begin()));
}

TEST(Generation, SpecialAndUnknownTokensHaveNoText) {
  const text::Tokenizer tokenizer = byte_tokenizer();
  TokenText stream(&tokenizer, {});
  EXPECT_EQ(stream.take({.id = 'a'}).text, "a");
  EXPECT_EQ(stream.take({.id = 256}).text, "");
  EXPECT_EQ(stream.take({.id = 260}).text, "");
  EXPECT_EQ(stream.take({.id = 0xC3}).text, "");
  EXPECT_EQ(stream.take({.id = 0xA9}).text, "\u00e9");
  EXPECT_EQ(stream.text(), "a\u00e9");
}

TEST(Generation, TheEndTokenEnds) {
  const model::Transformer model = byte_model();
  GenerationRequest request{.prompt = {1, 2, 3}, .max_tokens = 10};
  const Ids ids = run(model, nullptr, {request})[0].ids;
  request.end_tokens = {300, ids[4]};
  const Generation ended = run(model, nullptr, {request})[0];
  EXPECT_EQ(ended.finish, FinishReason::end_token);
  EXPECT_EQ(ended.ids.back(), ids[4]);
  EXPECT_EQ(ended.text, "");
}

TEST(Generation, ACallbackMayEndTheWork) {
  const model::Transformer model = byte_model();
  Engine engine(model, {});
  const std::vector<GenerationRequest> requests = {{.prompt = {1}, .max_tokens = 5}, {.prompt = {2}, .max_tokens = 5}};
  const auto stop = [](std::size_t, std::int32_t, std::string_view) { throw Error("enough"); };
  EXPECT_THROW(generate(engine, nullptr, requests, {}, {.on_token = stop}), Error);
  EXPECT_TRUE(engine.idle()) << "nothing stays behind";
}

TEST(Generation, StopStringsNeedATokenizer) {
  const model::Transformer model = byte_model();
  EXPECT_THROW(run(model, nullptr, {{.prompt = {1}, .max_tokens = 1, .stop = {"x"}}}), UsageError);
  const text::Tokenizer tokenizer = byte_tokenizer();
  EXPECT_THROW(run(model, &tokenizer, {{.prompt = {1}, .max_tokens = 1, .stop = {""}}}), UsageError);
  EXPECT_THROW(run(model, &tokenizer, {}, {.batch_size = 0}), UsageError);
}

}  // namespace
}  // namespace crope::infer
