#include "crope/infer/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "crope/base/error.h"

namespace crope::infer {

namespace {

struct Running {
  std::size_t index;
  TokenText text;
  Generation result;
};

}  // namespace

void generate(Engine& engine, const text::Tokenizer* tokenizer, std::span<const GenerationRequest> requests,
              const GenerationOptions& options, const GenerationCallbacks& callbacks) {
  if (options.batch_size < 1) {
    throw UsageError(fmt::format("batch size: expected a number from 1, got {}", options.batch_size));
  }
  std::map<std::int64_t, Running> running;  // by the engine's number
  std::size_t next = 0;
  const auto admit_next = [&] {
    const GenerationRequest& request = requests[next];
    TokenText text(tokenizer, request.stop);
    const std::int64_t number = engine.admit({.prompt = request.prompt,
                                              .max_tokens = request.max_tokens,
                                              .sampling = request.sampling,
                                              .end_tokens = request.end_tokens});
    running.emplace(number, Running{next++, std::move(text), {}});
  };
  const auto end = [&](std::map<std::int64_t, Running>::iterator place, FinishReason finish) {
    Running& done = place->second;
    done.result.text = done.text.text();
    done.result.finish = finish;
    if (callbacks.on_done) callbacks.on_done(done.index, done.result);
    running.erase(place);
  };
  // A callback that throws leaves no sequence behind.
  struct Cleanup {
    Engine& engine;
    std::map<std::int64_t, Running>& running;
    ~Cleanup() {
      for (const auto& [number, unused] : running) engine.remove(number);
    }
  } cleanup{engine, running};

  while (next < requests.size() || !running.empty()) {
    while (next < requests.size() && running.size() < static_cast<std::size_t>(options.batch_size)) admit_next();
    std::vector<std::int64_t> stopped;
    engine.step([&](const TokenEvent& event) {
      const auto place = running.find(event.sequence);
      if (place == running.end() || std::ranges::find(stopped, event.sequence) != stopped.end()) return;
      Running& sequence = place->second;
      if (event.finish == FinishReason::memory) {
        throw Error(fmt::format("no memory is left for the next token of sequence {}", sequence.index),
                    "ask for fewer tokens or a smaller batch");
      }
      sequence.result.ids.push_back(event.id);
      const TokenText::Piece piece = sequence.text.take(event);
      if (callbacks.on_token) callbacks.on_token(sequence.index, event.id, piece.text);
      if (piece.finish == FinishReason::none) return;
      if (event.finish == FinishReason::none) {
        stopped.push_back(event.sequence);
      } else {
        end(place, piece.finish);
      }
    });
    for (const std::int64_t number : stopped) {
      engine.remove(number);
      end(running.find(number), FinishReason::stop);
    }
  }
}

void generate(const model::Transformer& model, const text::Tokenizer* tokenizer,
              std::span<const GenerationRequest> requests, const GenerationOptions& options,
              const GenerationCallbacks& callbacks) {
  Engine engine(model, options.engine);
  generate(engine, tokenizer, requests, options, callbacks);
}

}  // namespace crope::infer
