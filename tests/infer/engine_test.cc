#include "crope/infer/engine.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "crope/base/error.h"
#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

using test::draw_ids;
using test::small_model;
using Ids = std::vector<std::int32_t>;

struct Result {
  Ids ids;
  FinishReason finish = FinishReason::none;
};

// Runs the engine until it is idle.
std::map<std::int64_t, Result> run(Engine& engine) {
  std::map<std::int64_t, Result> results;
  for (int steps = 0; !engine.idle(); ++steps) {
    EXPECT_LT(steps, 1000) << "the engine does not come to an end";
    engine.step([&](const TokenEvent& event) {
      results[event.sequence].ids.push_back(event.id);
      results[event.sequence].finish = event.finish;
    });
  }
  return results;
}

// Greedy without cache or engine.
Ids expected_greedy(const model::Transformer& model, Ids ids, std::int64_t count) {
  Ids made;
  for (std::int64_t i = 0; i < count; ++i) {
    made.push_back(static_cast<std::int32_t>(test::uncached_logits(model, ids)[-1].argmax().item<std::int64_t>()));
    ids.push_back(made.back());
  }
  return made;
}

class EngineOfVariant : public testing::TestWithParam<model::VariantTraits> {};

TEST_P(EngineOfVariant, TogetherAsOneAtATimeAndAsWithoutCache) {
  const model::Transformer model = small_model(GetParam().variant, 48);
  std::vector<Ids> prompts;
  for (std::uint64_t i = 0; i < 9; ++i) prompts.push_back(draw_ids(i, 1 + 3 * i));
  Engine batched(model, {.prefill_tokens = 10});
  for (const Ids& prompt : prompts) batched.admit({.prompt = prompt, .max_tokens = 15});
  const auto results = run(batched);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    Engine single(model, {});
    const std::int64_t number = single.admit({.prompt = prompts[i], .max_tokens = 15});
    const Ids expected = expected_greedy(model, prompts[i], 15);
    EXPECT_EQ(run(single)[number].ids, expected) << "prompt " << i;
    EXPECT_EQ(results.at(static_cast<std::int64_t>(i)).ids, expected) << "prompt " << i << ", batched";
    EXPECT_EQ(results.at(static_cast<std::int64_t>(i)).finish, FinishReason::length);
  }
}

INSTANTIATE_TEST_SUITE_P(AllVariants, EngineOfVariant, testing::ValuesIn(model::kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Engine, PromptsReadInPiecesGiveTheSame) {
  const model::Transformer model = small_model(model::Variant::crope_qkv, 64);
  const Ids prompt = draw_ids(1, 50);
  const Ids expected = expected_greedy(model, prompt, 10);
  for (const std::int64_t piece : {1, 7, 30, 50, 1000}) {
    Engine engine(model, {.prefill_tokens = piece});
    const std::int64_t number = engine.admit({.prompt = prompt, .max_tokens = 10});
    EXPECT_EQ(run(engine)[number].ids, expected) << piece;
  }
}

TEST(Engine, SequencesJoinWhileOthersRun) {
  const model::Transformer model = small_model(model::Variant::crope_all, 64);
  const Ids first = draw_ids(1, 5), second = draw_ids(2, 40);
  Engine engine(model, {.prefill_tokens = 8});
  std::map<std::int64_t, Ids> got;
  const auto collect = [&](const TokenEvent& event) { got[event.sequence].push_back(event.id); };
  const std::int64_t a = engine.admit({.prompt = first, .max_tokens = 20});
  for (int i = 0; i < 4; ++i) engine.step(collect);
  EXPECT_EQ(got[a].size(), 4u);
  const std::int64_t b = engine.admit({.prompt = second, .max_tokens = 10});
  for (int i = 0; i < 4; ++i) engine.step(collect);
  EXPECT_EQ(got[a].size(), 8u) << "a long prompt does not stall the others";
  EXPECT_TRUE(got[b].empty());
  while (!engine.idle()) engine.step(collect);
  EXPECT_EQ(got[a], expected_greedy(model, first, 20));
  EXPECT_EQ(got[b], expected_greedy(model, second, 10));
}

TEST(Engine, SharedBeginningsAreComputedOnce) {
  const model::Transformer model = small_model(model::Variant::half_rope_qk, 64);
  const Ids prompt = draw_ids(1, 30);
  const Ids expected = expected_greedy(model, prompt, 6);
  Engine engine(model, {});
  for (int i = 0; i < 4; ++i) engine.admit({.prompt = prompt, .max_tokens = 6});
  for (const auto& [number, result] : run(engine)) EXPECT_EQ(result.ids, expected);
  EXPECT_EQ(engine.statistics().prompt_tokens, 30 + 3);
  EXPECT_EQ(engine.statistics().shared_tokens, 3 * 29);

  // What ended is kept for a while: here the whole of the first answer.
  Ids longer = prompt;
  longer.insert(longer.end(), expected.begin(), expected.begin() + 5);
  longer.push_back(3);
  const std::int64_t number = engine.admit({.prompt = longer, .max_tokens = 4});
  EXPECT_EQ(run(engine)[number].ids, expected_greedy(model, longer, 4));
  EXPECT_EQ(engine.statistics().prompt_tokens, 33 + 1);

  Engine forgetful(model, {.kept_tokens = 0});
  for (int i = 0; i < 2; ++i) {
    forgetful.admit({.prompt = prompt, .max_tokens = 2});
    run(forgetful);
  }
  EXPECT_EQ(forgetful.statistics().shared_tokens, 0);
}

TEST(Engine, ReasonsToEnd) {
  const model::Transformer model = small_model(model::Variant::rope, 24);
  const Ids prompt = draw_ids(1, 10);
  const Ids greedy = expected_greedy(model, prompt, 15);
  const auto result = [&](std::int64_t max_tokens, std::vector<std::int32_t> end_tokens) {
    Engine engine(model, {});
    const std::int64_t number =
        engine.admit({.prompt = prompt, .max_tokens = max_tokens, .end_tokens = std::move(end_tokens)});
    return run(engine)[number];
  };
  EXPECT_EQ(result(5, {}).finish, FinishReason::length);
  EXPECT_EQ(result(5, {}).ids.size(), 5u);
  // 24 tokens can be read, and the last of them predicts one more.
  EXPECT_EQ(result(100, {}).finish, FinishReason::window);
  EXPECT_EQ(result(100, {}).ids, greedy);
  EXPECT_EQ(result(15, {}).finish, FinishReason::length);
  const Result ended = result(100, {greedy[3]});
  EXPECT_EQ(ended.finish, FinishReason::end_token);
  EXPECT_EQ(ended.ids.back(), greedy[3]);
  EXPECT_LE(ended.ids.size(), 4u);
  Engine full(model, {});
  full.admit({.prompt = draw_ids(2, 24), .max_tokens = 3});
  EXPECT_EQ(run(full)[0].ids.size(), 1u) << "a prompt that fills the window";
}

TEST(Engine, RemovedSequencesAreGone) {
  const model::Transformer model = small_model(model::Variant::rope);
  Engine engine(model, {});
  const std::int64_t a = engine.admit({.prompt = {1, 2}, .max_tokens = 9});
  const std::int64_t b = engine.admit({.prompt = {3, 4}, .max_tokens = 9});
  engine.step([](const TokenEvent&) {});
  engine.remove(a);
  engine.remove(a);
  engine.remove(77);
  EXPECT_EQ(engine.size(), 1u);
  const auto results = run(engine);
  EXPECT_FALSE(results.contains(a));
  EXPECT_EQ(results.at(b).ids.size(), 8u);
}

TEST(Engine, LogProbabilitiesAreThoseOfTheModel) {
  const model::Transformer model = small_model(model::Variant::crope_qk);
  const Ids prompt = draw_ids(3, 7);
  const at::Tensor expected = at::log_softmax(test::uncached_logits(model, prompt)[-1].to(at::kDouble), -1);
  Engine engine(model, {});
  engine.admit({.prompt = prompt,
                .max_tokens = 1,
                .sampling = {.temperature = 2, .repetition_penalty = 1.5},
                .top_log_probabilities = 5});
  int events = 0;
  engine.step([&](const TokenEvent& event) {
    ++events;
    ASSERT_TRUE(event.log_probability.has_value());
    EXPECT_NEAR(*event.log_probability, expected[event.id].item<double>(), 1e-4);
    ASSERT_EQ(event.top.size(), 5u);
    const auto [values, ids] = expected.topk(5);
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(event.top[static_cast<std::size_t>(i)].id, ids[i].item<std::int64_t>());
      EXPECT_NEAR(event.top[static_cast<std::size_t>(i)].log_probability, values[i].item<double>(), 1e-4);
    }
  });
  EXPECT_EQ(events, 1);
}

// log p(ids[t] | ids[0..t-1]) for all t from 1 on, and the most likely tokens there.
void expect_scores(const model::Transformer& model, const Ids& ids, std::size_t top,
                   const std::vector<PromptToken>& scores, const std::string& what) {
  ASSERT_EQ(scores.size(), ids.size() - 1) << what;
  const Ids read(ids.begin(), ids.end() - 1);
  const at::Tensor expected = at::log_softmax(test::uncached_logits(model, read).to(at::kDouble), -1);
  for (std::int64_t t = 0; t < static_cast<std::int64_t>(scores.size()); ++t) {
    const PromptToken& score = scores[static_cast<std::size_t>(t)];
    EXPECT_NEAR(score.log_probability, expected[t][ids[static_cast<std::size_t>(t) + 1]].item<double>(), 1e-4)
        << what << ", token " << t + 1;
    ASSERT_EQ(score.top.size(), top) << what;
    for (std::size_t i = 0; i < top; ++i) {
      EXPECT_NEAR(score.top[i].log_probability, expected[t][score.top[i].id].item<double>(), 1e-4);
      EXPECT_TRUE(i == 0 || score.top[i - 1].log_probability >= score.top[i].log_probability);
      if (score.top[i].id == ids[static_cast<std::size_t>(t) + 1]) {
        EXPECT_EQ(score.top[i].log_probability, score.log_probability) << "the same number in both places";
      }
    }
  }
}

TEST(Engine, PromptsAreScored) {
  const model::Transformer model = small_model(model::Variant::crope_all, 64);
  for (const std::int64_t piece : {5, 1000}) {
    for (const std::int64_t top : {0, 1, 3}) {
      Engine engine(model, {.prefill_tokens = piece});
      const Ids beginning = draw_ids(1, 20);
      std::map<std::int64_t, Ids> prompts;
      for (std::uint64_t i = 0; i < 4; ++i) {
        Ids prompt = beginning;
        for (const std::int32_t id : draw_ids(10 + i, 3 + i)) prompt.push_back(id);
        SequenceRequest request{.prompt = prompt, .max_tokens = i % 2 == 0 ? 1 : 0};
        request.top_log_probabilities = top;
        request.scores_prompt = true;
        prompts[engine.admit(request)] = prompt;
      }
      // One that is decoded meanwhile, and one that begins alike but wants no scores.
      const std::int64_t stream = engine.admit({.prompt = draw_ids(2, 9), .max_tokens = 12});
      const std::int64_t alike = engine.admit({.prompt = beginning, .max_tokens = 3});
      std::map<std::int64_t, Ids> others;
      for (int steps = 0; !engine.idle(); ++steps) {
        ASSERT_LT(steps, 1000);
        engine.step([&](const TokenEvent& event) {
          if (!prompts.contains(event.sequence)) {
            others[event.sequence].push_back(event.id);
            EXPECT_TRUE(event.prompt.empty());
            return;
          }
          const Ids& prompt = prompts.at(event.sequence);
          expect_scores(model, prompt, static_cast<std::size_t>(top), event.prompt, fmt::format("piece {}", piece));
          EXPECT_EQ(event.finish, FinishReason::length);
          const bool generates = event.sequence % 2 == 0;
          EXPECT_EQ(event.id, generates ? expected_greedy(model, prompt, 1)[0] : -1);
          EXPECT_EQ(event.log_probability.has_value(), generates);
        });
      }
      EXPECT_EQ(others[stream], expected_greedy(model, draw_ids(2, 9), 12));
      EXPECT_EQ(others[alike], expected_greedy(model, beginning, 3));
      EXPECT_GE(engine.statistics().shared_tokens, 3 * 19) << "what was scored is shared";
    }
  }
}

TEST(Engine, ScoresOfOthersAreTakenOnlyWhereTheyAreWideEnough) {
  const model::Transformer model = small_model(model::Variant::rope, 64);
  const Ids prompt = draw_ids(1, 30);
  Engine engine(model, {});
  const auto run_scored = [&](std::int64_t top) {
    SequenceRequest request{.prompt = prompt, .max_tokens = 1};
    request.top_log_probabilities = top;
    request.scores_prompt = true;
    engine.admit(std::move(request));
    const std::int64_t before = engine.statistics().shared_tokens;
    while (!engine.idle()) {
      engine.step([&](const TokenEvent& event) {
        expect_scores(model, prompt, static_cast<std::size_t>(top), event.prompt, fmt::format("top {}", top));
      });
    }
    return engine.statistics().shared_tokens - before;
  };
  engine.admit({.prompt = prompt, .max_tokens = 2});
  run(engine);
  EXPECT_EQ(run_scored(2), 0) << "the first was not scored";
  EXPECT_EQ(run_scored(2), 29);
  EXPECT_EQ(run_scored(1), 29);
  EXPECT_EQ(run_scored(4), 0);
}

TEST(Engine, AScoredPromptMayHaveOneTokenMoreThanTheWindow) {
  const model::Transformer model = small_model(model::Variant::rope, 24);
  const Ids prompt = draw_ids(1, 25);
  Engine engine(model, {.prefill_tokens = 7});
  SequenceRequest request{.prompt = prompt, .max_tokens = 0};
  request.top_log_probabilities = 1;
  request.scores_prompt = true;
  engine.admit(request);
  int events = 0;
  while (!engine.idle()) {
    engine.step([&](const TokenEvent& event) {
      ++events;
      expect_scores(model, prompt, 1, event.prompt, "25 tokens");
    });
  }
  EXPECT_EQ(events, 1);
  request.prompt.push_back(1);
  EXPECT_THROW(engine.admit(request), UsageError);
  request.prompt = {3};
  EXPECT_THROW(engine.admit(request), UsageError) << "nothing to score";
  request.prompt = prompt;
  request.max_tokens = 1;
  EXPECT_THROW(engine.admit(request), UsageError) << "no room for what follows";
}

TEST(Engine, BadRequestsAreNamed) {
  const model::Transformer model = small_model(model::Variant::rope);
  Engine engine(model, {});
  const auto message = [&](SequenceRequest request) -> std::string {
    try {
      engine.admit(std::move(request));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({.prompt = {}, .max_tokens = 1}), "the prompt is empty");
  EXPECT_EQ(message({.prompt = Ids(25, 1), .max_tokens = 1}),
            "a prompt of 25 tokens: this model's window has 24 (max_seq_len)");
  EXPECT_EQ(message({.prompt = {1, 61}, .max_tokens = 1}),
            "token 1 of the prompt is 61, outside the vocabulary of 61 (0 to 60)");
  EXPECT_EQ(message({.prompt = {1}, .max_tokens = 0}), "max_tokens: expected a number from 1, got 0");
  EXPECT_EQ(message({.prompt = {1}, .max_tokens = 1, .sampling = {.top_p = 2}}),
            "top-p: expected a number above 0 and at most 1, got 2");
  EXPECT_TRUE(engine.idle());
  EXPECT_THROW(Engine(model, {.prefill_tokens = 0}), UsageError);
}

TEST(Engine, TheLargestNumberOfTokensIsNoMoreThanTheWindow) {
  const model::Transformer model = small_model(model::Variant::rope, 32);
  Engine engine(model, {});
  engine.admit({.prompt = draw_ids(1, 5), .max_tokens = std::numeric_limits<std::int64_t>::max()});
  std::size_t tokens = 0;
  FinishReason finish = FinishReason::none;
  while (!engine.idle()) {
    engine.step([&](const TokenEvent& event) {
      ++tokens;
      finish = event.finish;
    });
  }
  EXPECT_EQ(tokens, 28u);
  EXPECT_EQ(finish, FinishReason::window);
}

TEST(Engine, WhatIsKeptStaysWithinItsLimit) {
  const model::Transformer model = small_model(model::Variant::rope, 512);
  const std::int64_t limit = 300;
  Engine engine(model, {.kept_tokens = limit});
  const auto run = [&](const std::vector<std::int32_t>& prompt) {
    engine.admit({.prompt = prompt, .max_tokens = 2});
    while (!engine.idle()) engine.step([](const TokenEvent&) {});
  };
  for (std::uint64_t i = 0; i < 8; ++i) {
    const std::vector<std::int32_t> parent = draw_ids(i, 200);
    run(parent);
    // Shares a little of it: what it holds of the parent's memory counts, also when the parent has gone.
    std::vector<std::int32_t> child(parent.begin(), parent.begin() + 12);
    child.push_back(3);
    run(child);
    EXPECT_LE(engine.statistics().kept_tokens, limit);
    EXPECT_GT(engine.statistics().kept_tokens, 0);
  }
}

}  // namespace
}  // namespace crope::infer
