// The engine where memory runs out.
#include <c10/core/CPUAllocator.h>

#include <functional>
#include <map>
#include <new>

#include "crope/infer/engine.h"
#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

using test::draw_ids;
using test::small_model;

// Fails the allocations of the sizes that `fails` names.
class FailingAllocator : public c10::Allocator {
 public:
  FailingAllocator() : usual_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, /*priority=*/200); }
  ~FailingAllocator() override { c10::SetCPUAllocator(usual_, /*priority=*/200); }

  c10::DataPtr allocate(std::size_t size) override {
    if (fails && fails(size)) throw std::bad_alloc();
    return usual_->allocate(size);
  }
  c10::DeleterFnPtr raw_deleter() const override { return usual_->raw_deleter(); }
  void copy_data(void* target, const void* source, std::size_t size) const override {
    usual_->copy_data(target, source, size);
  }

  std::function<bool(std::size_t)> fails;

 private:
  c10::Allocator* usual_;
};

constexpr std::size_t kLogitBytes = test::kSmallVocabulary * sizeof(float);
constexpr std::size_t kGateBytes = (37 + 16) * sizeof(float);  // a row of the decoder's widest working memory

// Allocations of `least` rows or more, of rows of this size.
std::function<bool(std::size_t)> rows_from(std::size_t least, std::size_t row_bytes) {
  return [=](std::size_t size) { return size % row_bytes == 0 && size / row_bytes >= least; };
}

struct MemoryOutcome {
  std::vector<std::int32_t> ids;
  std::vector<PromptToken> prompt;
  FinishReason finish = FinishReason::none;
};

std::map<std::int64_t, MemoryOutcome> run_to_the_end(Engine& engine) {
  std::map<std::int64_t, MemoryOutcome> all;
  while (!engine.idle()) {
    engine.step([&](const TokenEvent& event) {
      MemoryOutcome& ended = all[event.sequence];
      if (event.id >= 0) ended.ids.push_back(event.id);
      if (!event.prompt.empty()) ended.prompt = event.prompt;
      ended.finish = event.finish;
    });
  }
  return all;
}

SequenceRequest small_request(std::uint64_t seed) {
  return {.prompt = draw_ids(seed, 1), .max_tokens = 20};
}

std::vector<std::int32_t> tokens_alone(const model::Transformer& model, const SequenceRequest& request) {
  Engine engine(model, {});
  const std::int64_t number = engine.admit(request);
  return run_to_the_end(engine).at(number).ids;
}

TEST(Engine, WithoutMemoryOneSequenceEndsAndTheOthersGoOn) {
  const model::Transformer model = small_model(model::Variant::rope, 4096);
  const SequenceRequest small{.prompt = draw_ids(1, 5), .max_tokens = 40};
  const std::vector<std::int32_t> expected = tokens_alone(model, small);
  ASSERT_EQ(expected.size(), 40u);

  FailingAllocator allocator;
  Engine engine(model, {.prefill_tokens = 4096});
  const std::int64_t first = engine.admit(small);
  engine.step([](const TokenEvent&) {});
  const std::int64_t greedy = engine.admit({.prompt = draw_ids(2, 3000), .max_tokens = 5});
  const CacheShape shape = cache_shape(model.config);
  const std::size_t keys =
      static_cast<std::size_t>(3000 * shape.layers * shape.heads * shape.key_width) * sizeof(float);
  allocator.fails = [&](std::size_t size) { return size >= keys; };
  const auto ended = run_to_the_end(engine);
  allocator.fails = {};
  EXPECT_EQ(ended.at(greedy).finish, FinishReason::memory);
  EXPECT_EQ(ended.at(first).finish, FinishReason::length);
  EXPECT_EQ(ended.at(first).ids, std::vector<std::int32_t>(expected.begin() + 1, expected.end()));
  const std::int64_t again = engine.admit({.prompt = draw_ids(2, 3000), .max_tokens = 5});
  EXPECT_EQ(run_to_the_end(engine).at(again).ids.size(), 5u) << "with memory it is served";
}

TEST(Engine, WithoutMemoryForManyRowsAPromptIsReadInPieces) {
  const model::Transformer model = small_model(model::Variant::rope, 4096);
  const SequenceRequest large{.prompt = draw_ids(2, 3000), .max_tokens = 5};
  FailingAllocator allocator;
  Engine engine(model, {.prefill_tokens = 4096});
  const std::int64_t first = engine.admit(small_request(1)), second = engine.admit(large);
  allocator.fails = rows_from(1000, kGateBytes);
  const auto ended = run_to_the_end(engine);
  allocator.fails = {};
  EXPECT_EQ(ended.at(first).ids, tokens_alone(model, small_request(1)));
  EXPECT_EQ(ended.at(second).finish, FinishReason::length);
  EXPECT_EQ(ended.at(second).ids, tokens_alone(model, large));
}

TEST(Engine, WithoutMemoryForAnotherRowTheLatestSequenceEnds) {
  const model::Transformer model = small_model(model::Variant::rope);
  for (const std::int64_t speculate : {0, 4}) {
    FailingAllocator allocator;
    Engine engine(model, {.prefill_tokens = 1, .speculate = speculate});
    allocator.fails = rows_from(3, kGateBytes);
    const std::int64_t first = engine.admit(small_request(1)), second = engine.admit(small_request(2));
    const std::int64_t third = engine.admit(small_request(3));
    const auto ended = run_to_the_end(engine);
    allocator.fails = {};
    EXPECT_EQ(ended.at(first).ids, tokens_alone(model, small_request(1)));
    EXPECT_EQ(ended.at(second).ids, tokens_alone(model, small_request(2)));
    EXPECT_EQ(ended.at(third).finish, FinishReason::memory);
    const std::int64_t again = engine.admit(small_request(3));
    EXPECT_EQ(run_to_the_end(engine).at(again).ids, tokens_alone(model, small_request(3)))
        << "with memory it is served";
  }
}

TEST(Engine, WithoutMemoryForAllLogitsTheyAreMadeOneAfterTheOther) {
  const model::Transformer model = small_model(model::Variant::rope);
  const SequenceRequest scored{
      .prompt = draw_ids(4, 15), .max_tokens = 2, .top_log_probabilities = 2, .scores_prompt = true};
  std::vector<PromptToken> expected;
  {
    Engine engine(model, {});
    const std::int64_t number = engine.admit(scored);
    expected = run_to_the_end(engine).at(number).prompt;
  }
  ASSERT_EQ(expected.size(), 14u);
  FailingAllocator allocator;
  Engine engine(model, {});
  allocator.fails = rows_from(2, kLogitBytes);
  const std::int64_t first = engine.admit(small_request(1)), second = engine.admit(small_request(2));
  const std::int64_t third = engine.admit(scored);
  const auto ended = run_to_the_end(engine);
  allocator.fails = {};
  EXPECT_EQ(ended.at(first).ids, tokens_alone(model, small_request(1)));
  EXPECT_EQ(ended.at(second).ids, tokens_alone(model, small_request(2)));
  EXPECT_EQ(ended.at(third).finish, FinishReason::length);
  ASSERT_EQ(ended.at(third).prompt.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(ended.at(third).prompt[i].log_probability, expected[i].log_probability) << i;
  }
}

TEST(Engine, WithoutMemoryForASingleRowOfLogitsSequencesEndOneByOne) {
  const model::Transformer model = small_model(model::Variant::rope);
  FailingAllocator allocator;
  Engine engine(model, {});
  allocator.fails = rows_from(1, kLogitBytes);
  const SequenceRequest scored{
      .prompt = draw_ids(4, 15), .max_tokens = 0, .top_log_probabilities = 2, .scores_prompt = true};
  const std::int64_t first = engine.admit(small_request(1)), second = engine.admit(scored);
  const auto ended = run_to_the_end(engine);
  allocator.fails = {};
  EXPECT_EQ(ended.at(first).finish, FinishReason::memory);
  EXPECT_EQ(ended.at(second).finish, FinishReason::memory);
  const std::int64_t again = engine.admit(small_request(1));
  EXPECT_EQ(run_to_the_end(engine).at(again).ids, tokens_alone(model, small_request(1))) << "with memory it is served";
}

TEST(Engine, WhatIsKeptMakesRoomForWhatRuns) {
  const model::Transformer model = small_model(model::Variant::rope, 512);
  FailingAllocator allocator;
  Engine engine(model, {});
  engine.admit({.prompt = draw_ids(1, 200), .max_tokens = 1});
  run_to_the_end(engine);
  ASSERT_GT(engine.statistics().kept_tokens, 0);
  // There is no memory until the kept sequence is dropped.
  allocator.fails = [&](std::size_t) { return engine.statistics().kept_tokens > 0; };
  const SequenceRequest next{.prompt = draw_ids(2, 200), .max_tokens = 3};
  const std::int64_t number = engine.admit(next);
  const auto ended = run_to_the_end(engine);
  allocator.fails = {};
  EXPECT_EQ(ended.at(number).ids, tokens_alone(model, next));
}

}  // namespace
}  // namespace crope::infer
