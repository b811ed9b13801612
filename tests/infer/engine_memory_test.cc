// The engine where memory runs out.
#include <c10/core/CPUAllocator.h>

#include <limits>
#include <map>
#include <new>

#include "crope/infer/engine.h"
#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

using test::draw_ids;
using test::small_model;

// Fails all allocations of at least `smallest` bytes while it is armed.
class FailingAllocator : public c10::Allocator {
 public:
  FailingAllocator() : usual_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, /*priority=*/200); }
  ~FailingAllocator() override { c10::SetCPUAllocator(usual_, /*priority=*/200); }

  c10::DataPtr allocate(std::size_t size) override {
    if (size >= smallest) throw std::bad_alloc();
    return usual_->allocate(size);
  }
  c10::DeleterFnPtr raw_deleter() const override { return usual_->raw_deleter(); }
  void copy_data(void* target, const void* source, std::size_t size) const override {
    usual_->copy_data(target, source, size);
  }

  std::size_t smallest = std::numeric_limits<std::size_t>::max();

 private:
  c10::Allocator* usual_;
};

TEST(Engine, WithoutMemoryOneSequenceEndsAndTheOthersGoOn) {
  const model::Transformer model = small_model(model::Variant::rope, 4096);
  const SequenceRequest small{.prompt = draw_ids(1, 5), .max_tokens = 40};
  const auto tokens_of = [](Engine& engine, std::int64_t number, std::map<std::int64_t, FinishReason>& ends) {
    std::vector<std::int32_t> ids;
    while (!engine.idle()) {
      engine.step([&](const TokenEvent& event) {
        if (event.sequence == number) ids.push_back(event.id);
        if (event.finish != FinishReason::none) ends[event.sequence] = event.finish;
      });
    }
    return ids;
  };
  std::map<std::int64_t, FinishReason> ends;
  Engine alone(model, {});
  const std::vector<std::int32_t> expected = tokens_of(alone, alone.admit(small), ends);
  ASSERT_EQ(expected.size(), 40u);

  FailingAllocator allocator;
  Engine engine(model, {.prefill_tokens = 4096});
  const std::int64_t first = engine.admit(small);
  engine.step([](const TokenEvent&) {});
  const std::int64_t greedy = engine.admit({.prompt = draw_ids(2, 3000), .max_tokens = 5});
  const CacheShape shape = cache_shape(model.config);
  allocator.smallest = static_cast<std::size_t>(3000 * shape.layers * shape.heads * shape.key_width) * sizeof(float);
  ends.clear();
  const std::vector<std::int32_t> rest = tokens_of(engine, first, ends);
  allocator.smallest = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(ends.at(greedy), FinishReason::memory);
  EXPECT_EQ(ends.at(first), FinishReason::length);
  EXPECT_EQ(rest, std::vector<std::int32_t>(expected.begin() + 1, expected.end()));
  const std::int64_t again = engine.admit({.prompt = draw_ids(2, 3000), .max_tokens = 5});
  EXPECT_EQ(tokens_of(engine, again, ends).size(), 5u) << "with memory it is served";
}

}  // namespace
}  // namespace crope::infer
