#include "crope/serve/inference_thread.h"

#include <gtest/gtest.h>

#include <latch>
#include <semaphore>
#include <thread>

#include "crope/serve/api_error.h"
#include "tests/infer/small_model.h"

namespace crope::serve {
namespace {

using test::draw_ids;
using test::small_model;
using Ids = std::vector<std::int32_t>;

constexpr std::chrono::hours kLong{1};

Ids alone(const model::Transformer& model, const infer::SequenceRequest& request) {
  infer::Engine engine(model, {});
  engine.admit(request);
  Ids ids;
  while (!engine.idle()) engine.step([&](const infer::TokenEvent& event) { ids.push_back(event.id); });
  return ids;
}

// All tokens of a ticket, by sequence.
std::map<std::size_t, Ids> collect(Ticket& ticket) {
  std::map<std::size_t, Ids> ids;
  for (;;) {
    const auto events = ticket.wait(std::chrono::steady_clock::now() + kLong);
    if (events.empty()) return ids;
    for (const Ticket::Event& event : events) ids[event.index].push_back(event.token.id);
  }
}

std::vector<infer::SequenceRequest> requests_of(std::uint64_t seed, std::size_t count, std::int64_t max_tokens) {
  std::vector<infer::SequenceRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back(
        {.prompt = draw_ids(seed + i, 3 + i), .max_tokens = max_tokens, .sampling = {.temperature = 1, .seed = seed}});
  }
  return requests;
}

TEST(InferenceThread, ManyAtOnceGetWhatEachGetsAlone) {
  const model::Transformer model = small_model(model::Variant::crope_all, 64);
  InferenceThread inference(model, {.max_sequences = 3});
  std::vector<std::thread> clients;
  for (std::uint64_t c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      const auto requests = requests_of(10 * c, 4, 20);
      const auto got = collect(*inference.submit(requests));
      for (std::size_t i = 0; i < requests.size(); ++i)
        EXPECT_EQ(got.at(i), alone(model, requests[i])) << c << " " << i;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(inference.statistics().running, 0);
  EXPECT_EQ(inference.statistics().waiting, 0);
  EXPECT_EQ(inference.statistics().engine.new_tokens, 6 * 4 * 20);
}

// Waits until the thread has nothing to do.
void wait_until_idle(const InferenceThread& inference) {
  for (;;) {
    const auto statistics = inference.statistics();
    if (statistics.running == 0 && statistics.waiting == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(InferenceThread, WhoeverGoesFreesAPlace) {
  const model::Transformer model = small_model(model::Variant::rope, 1 << 17);
  InferenceThread inference(model, {.max_sequences = 2, .max_waiting = 6});
  {
    const auto endless = inference.submit(requests_of(1, 4, 1 << 17));
    EXPECT_FALSE(endless->wait(std::chrono::steady_clock::now() + kLong).empty());
    const auto waiting = inference.submit(requests_of(2, 2, 5));
    EXPECT_GT(inference.statistics().waiting, 0);
  }
  wait_until_idle(inference);
  const auto requests = requests_of(3, 1, 5);
  EXPECT_EQ(collect(*inference.submit(requests)).at(0), alone(model, requests[0]));
}

TEST(InferenceThread, OneSequenceOfARequestCanBeCancelled) {
  const model::Transformer model = small_model(model::Variant::rope, 1 << 17);
  InferenceThread inference(model, {});
  auto requests = requests_of(1, 2, 1 << 17);
  requests[1].max_tokens = 4;
  const auto ticket = inference.submit(requests);
  ticket->cancel(0);
  EXPECT_EQ(collect(*ticket).at(1).size(), 4u) << "and the ticket comes to its end";
}

TEST(InferenceThread, SmallRequestsDoNotWaitForLargeOnes) {
  const model::Transformer model = small_model(model::Variant::rope, 64);
  InferenceThread inference(model, {.max_sequences = 1});
  std::latch go_on(1), begun(1);
  const auto holder = inference.post([&] {
    begun.count_down();
    go_on.wait();
  });
  begun.wait();  // nothing is admitted before both are there
  const auto large = inference.submit(requests_of(1, 40, 3));
  const auto small = inference.submit(requests_of(2, 1, 3));
  go_on.count_down();
  collect(*small);
  const auto statistics = inference.statistics();
  EXPECT_GT(statistics.waiting + statistics.running, 30);
  EXPECT_EQ(collect(*large).size(), 40u);
}

TEST(InferenceThread, LimitsAndTheEnd) {
  const model::Transformer model = small_model(model::Variant::rope, 1 << 17);
  InferenceThread inference(model, {.max_sequences = 1, .max_waiting = 3});
  const auto status_of = [](const auto& work) {
    try {
      work();
    } catch (const ApiError& e) {
      return e.status();
    }
    return 0;
  };
  EXPECT_EQ(status_of([&] { inference.submit(requests_of(1, 4, 2)); }), 429);
  const auto endless = inference.submit(requests_of(1, 2, 1 << 17));
  endless->wait(std::chrono::steady_clock::now() + kLong);
  const auto waiting = inference.submit(requests_of(1, 2, 2));
  EXPECT_EQ(status_of([&] { inference.submit(requests_of(1, 1, 2)); }), 429);
  inference.stop_admitting();
  EXPECT_EQ(status_of([&] { inference.submit(requests_of(1, 1, 2)); }), 503);
  EXPECT_EQ(status_of([&] { inference.post([] {}); }), 503);
  EXPECT_FALSE(endless->wait(std::chrono::steady_clock::now() + kLong).empty()) << "what is there goes on";
}

TEST(InferenceThread, TheEndTellsThoseWhoWait) {
  const model::Transformer model = small_model(model::Variant::rope, 1 << 17);
  auto inference = std::make_unique<InferenceThread>(model, InferenceOptions{.max_sequences = 1});
  const auto running = inference->submit(requests_of(1, 1, 1 << 17));
  const auto waiting = inference->submit(requests_of(1, 1, 2));
  inference.reset();
  EXPECT_THROW(collect(*running), ApiError);
  EXPECT_THROW(collect(*waiting), ApiError);
}

TEST(InferenceThread, TasksRunBetweenSteps) {
  const model::Transformer model = small_model(model::Variant::rope, 1 << 17);
  InferenceThread inference(model, {});
  const auto endless = inference.submit(requests_of(1, 1, 1 << 17));
  int runs = 0;
  std::binary_semaphore over(0);
  const auto task = inference.post([&] { ++runs; }, [&] { over.release(); });
  over.acquire();
  EXPECT_TRUE(task->done());
  EXPECT_EQ(runs, 1);
  const auto failing = inference.post([] { throw UsageError("no"); }, [&] { over.release(); });
  over.acquire();
  EXPECT_THROW(failing->done(), UsageError);
}

TEST(InferenceThread, TasksTakeTurnsWithSteps) {
  const model::Transformer model = small_model(model::Variant::rope, 1 << 17);
  InferenceThread inference(model, {});
  const auto endless = inference.submit(requests_of(1, 1, 1 << 17));
  endless->wait(std::chrono::steady_clock::now() + kLong);
  std::latch begun(1), go_on(1), over(1);
  const auto holder = inference.post([&] {
    begun.count_down();
    go_on.wait();
  });
  begun.wait();
  std::vector<std::int64_t> steps;  // when each task runs
  std::vector<std::shared_ptr<InferenceTask>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(inference.post([&] { steps.push_back(inference.statistics().steps); }));
  const auto last = inference.post([&] { over.count_down(); });
  go_on.count_down();
  over.wait();
  ASSERT_EQ(steps.size(), 5u);
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(steps[i], steps[i - 1] + 1) << "a step between two tasks";
}

TEST(InferenceThread, ATaskThatNobodyWaitsForIsNotBegun) {
  const model::Transformer model = small_model(model::Variant::rope, 64);
  InferenceThread inference(model, {});
  std::latch begun(1), go_on(1), over(1);
  const auto holder = inference.post([&] {
    begun.count_down();
    go_on.wait();
  });
  begun.wait();
  bool has_run = false;
  inference.post([&] { has_run = true; }).reset();
  const auto last = inference.post([&] { over.count_down(); });
  go_on.count_down();
  over.wait();
  EXPECT_FALSE(has_run);
}

TEST(InferenceThread, WakesWhoeverWaits) {
  const model::Transformer model = small_model(model::Variant::rope, 64);
  InferenceThread inference(model, {});
  std::counting_semaphore<> woken(0);
  const auto ticket = inference.submit(requests_of(1, 1, 3), [&] { woken.release(); });
  Ids ids;
  while (ids.size() < 3) {
    woken.acquire();  // would never end if a token came without it
    for (const auto& event : ticket->wait(std::chrono::steady_clock::now())) ids.push_back(event.token.id);
  }
}

TEST(InferenceThread, ABadRequestFailsAlone) {
  const model::Transformer model = small_model(model::Variant::rope, 64);
  InferenceThread inference(model, {});
  auto requests = requests_of(1, 2, 4);
  requests[1].prompt = {9999};
  EXPECT_THROW(collect(*inference.submit(requests)), UsageError);
  const auto good = requests_of(2, 1, 4);
  EXPECT_EQ(collect(*inference.submit(good)).at(0), alone(model, good[0]));
}

}  // namespace
}  // namespace crope::serve
