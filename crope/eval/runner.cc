#include "crope/eval/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/progress.h"
#include "crope/base/rounding.h"
#include "crope/base/sha256.h"
#include "crope/eval/journal.h"
#include "crope/infer/generation.h"

namespace crope::eval {
namespace {

// Requests that are encoded and scored together: enough for beginnings to be shared and lengths to be sorted, few
// enough to keep memory small.
constexpr std::size_t kWaveTokens = std::size_t{1} << 21;

// Windows of a rolling text that the journal holds as one.
constexpr std::size_t kWindowsPerPart = 16;

std::string_view as_bytes(std::span<const std::int32_t> ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

// What is asked at once and noted in the journal at once: an item, or a part of a rolling text.
struct Part {
  std::size_t task, item;
  std::size_t place = 0;  // among the parts of the item
  std::vector<infer::ScoreRequest> requests;
  ItemKey key;
  std::vector<infer::Score> scores;
  std::size_t missing = 0;
};

// A rolling text that is being scored.
struct Text {
  std::vector<double> sums;  // log-likelihoods of its parts
  std::size_t missing = 0;
};

class Runner {
 public:
  Runner(const model::Transformer& model, const text::Tokenizer& tokenizer, std::span<const Task> tasks,
         const RunnerOptions& options, Log& log)
      : model_(model),
        tokenizer_(tokenizer),
        tasks_(tasks),
        options_(options),
        log_(log),
        tokenizer_name_(tokenizer.fingerprint()),
        journal_(options.journal),
        progress_(log, {.label = "eval", .unit = "items", .total = count_items(tasks)}) {
    for (const Task& task : tasks) responses_.emplace_back(task.items.size());
  }

  std::vector<std::vector<Response>> run() {
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      switch (tasks_[t].kind) {
        case TaskKind::multiple_choice:
        case TaskKind::last_word:
          add_pairs(t);
          break;
        case TaskKind::rolling_likelihood:
          add_texts(t);
          break;
        case TaskKind::generation:
          score_wave();
          generate(t);
          break;
      }
    }
    score_wave();
    if (cut_ > 0) {
      log_.info(
          fmt::format("eval: {} items are longer than the window of {} tokens and were scored without their beginning",
                      cut_, model_.config.max_seq_len));
    }
    if (reused_ > 0) log_.info(fmt::format("eval: {} items were found in {}", reused_, options_.journal.string()));
    return std::move(responses_);
  }

 private:
  static std::uint64_t count_items(std::span<const Task> tasks) {
    return std::accumulate(tasks.begin(), tasks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Task& task) { return sum + task.items.size(); });
  }

  std::string item_name(std::size_t task, std::size_t item) const {
    return fmt::format("{}, item {}", tasks_[task].name, item);
  }

  void add_pairs(std::size_t t) {
    const auto window = static_cast<std::size_t>(model_.config.max_seq_len);
    for (std::size_t i = 0; i < tasks_[t].items.size(); ++i) {
      const Item& item = tasks_[t].items[i];
      Part part{.task = t, .item = i};
      bool fits = true;
      for (const TextPair& pair : text_pairs(tasks_[t].kind, item)) {
        part.requests.push_back(encode_pair(tokenizer_, pair.context, pair.continuation, options_.prefix));
        check(part.requests.back(), item_name(t, i));
        fits = fits && part.requests.back().context.size() + part.requests.back().continuation.size() <= window + 1;
      }
      cut_ += !fits;
      add_part(std::move(part));
      if (wave_tokens_ >= kWaveTokens) score_wave();
    }
  }

  void add_texts(std::size_t t) {
    for (std::size_t i = 0; i < tasks_[t].items.size(); ++i) {
      const std::vector<std::int32_t> ids = tokenizer_.encode_with_special(tasks_[t].items[i].context);
      std::vector<infer::ScoreRequest> windows =
          rolling_windows(ids, options_.prefix.require(), model_.config.max_seq_len);
      const std::size_t parts = divide_up(windows.size(), kWindowsPerPart);
      texts_[{t, i}] = {.sums = std::vector<double>(parts), .missing = parts};
      for (std::size_t p = 0; p < parts; ++p) {
        Part part{.task = t, .item = i, .place = p};
        const std::size_t begin = p * kWindowsPerPart, end = std::min(begin + kWindowsPerPart, windows.size());
        for (std::size_t w = begin; w < end; ++w) part.requests.push_back(std::move(windows[w]));
        add_part(std::move(part));
        if (wave_tokens_ >= kWaveTokens) score_wave();
      }
    }
  }

  void check(const infer::ScoreRequest& request, const std::string& name) const {
    if (request.continuation.empty()) {
      throw Error(fmt::format("{}: a continuation has no tokens of its own", name), "is its text empty?");
    }
    if (static_cast<std::int64_t>(request.continuation.size()) > model_.config.max_seq_len) {
      throw Error(fmt::format("{}: a continuation of {} tokens does not fit the window of {} (max_seq_len)", name,
                              request.continuation.size(), model_.config.max_seq_len));
    }
  }

  // Takes the response from the journal, or puts the part into the wave.
  void add_part(Part part) {
    part.key = score_key(part.requests);
    auto found = journal_.find(part.key);
    if (found && found->log_likelihoods.size() == part.requests.size()) {
      reused_ += part.place == 0;
      finish(part, std::move(*found));
      return;
    }
    for (const infer::ScoreRequest& request : part.requests) {
      wave_tokens_ += request.context.size() + request.continuation.size();
    }
    part.missing = part.requests.size();
    part.scores.resize(part.requests.size());
    wave_.push_back(std::move(part));
  }

  ItemKey score_key(const std::vector<infer::ScoreRequest>& requests) const {
    Sha256 hash;
    hash.update(fmt::format("score {} {}\n", options_.model_name, model_.config.max_seq_len));
    for (const infer::ScoreRequest& request : requests) {
      hash.update(fmt::format("{} {}\n", request.context.size(), request.continuation.size()));
      hash.update(as_bytes(request.context));
      hash.update(as_bytes(request.continuation));
    }
    return hash.hex();
  }

  void score_wave() {
    std::vector<infer::ScoreRequest> requests;
    std::vector<std::pair<std::size_t, std::size_t>> owners;  // part, place in it
    for (std::size_t p = 0; p < wave_.size(); ++p) {
      for (std::size_t i = 0; i < wave_[p].requests.size(); ++i) {
        requests.push_back(std::move(wave_[p].requests[i]));
        owners.emplace_back(p, i);
      }
    }
    infer::score_requests(model_, requests, {.batch_tokens = options_.batch_tokens, .engine = options_.engine},
                          [&](std::size_t index, const infer::Score& score) {
                            throw_if_interrupted();
                            Part& part = wave_[owners[index].first];
                            part.scores[owners[index].second] = score;
                            if (--part.missing == 0) take(part);
                          });
    wave_.clear();
    wave_tokens_ = 0;
  }

  // All scores of a part are there.
  void take(const Part& part) {
    Response response;
    for (const infer::Score& score : part.scores) {
      response.log_likelihoods.push_back(score.log_likelihood);
      response.is_greedy.push_back(score.is_greedy);
    }
    journal_.add(part.key, response);
    finish(part, std::move(response));
  }

  void finish(const Part& part, Response response) {
    if (tasks_[part.task].kind == TaskKind::rolling_likelihood) return finish_text_part(part, response);
    responses_[part.task][part.item] = std::move(response);
    count_item(part.task);
  }

  void finish_text_part(const Part& part, const Response& response) {
    const auto place = texts_.find({part.task, part.item});
    Text& text = place->second;
    const auto& values = response.log_likelihoods;
    text.sums[part.place] = std::accumulate(values.begin(), values.end(), 0.0);
    if (--text.missing > 0) {
      const std::size_t all = text.sums.size();
      progress_.update(done_, fmt::format("{} {} of {}", tasks_[part.task].name, all - text.missing, all));
      return;
    }
    // Summed in the order of the text, whatever the order in which the parts came.
    responses_[part.task][part.item].log_likelihoods = {std::accumulate(text.sums.begin(), text.sums.end(), 0.0)};
    texts_.erase(place);
    count_item(part.task);
  }

  void count_item(std::size_t task) { progress_.update(++done_, tasks_[task].name); }

  void generate(std::size_t t) {
    const Task& task = tasks_[t];
    const std::int64_t new_tokens = generation_tokens(task, model_.config.max_seq_len);
    if (new_tokens < task.max_generated_tokens) {
      log_.warn(fmt::format("{}: at most {} tokens are generated: the window has {}", task.name, new_tokens,
                            model_.config.max_seq_len));
    }
    std::vector<infer::GenerationRequest> requests;
    std::vector<std::pair<std::size_t, ItemKey>> owners;
    for (std::size_t i = 0; i < task.items.size(); ++i) {
      infer::GenerationRequest request = make_generation(task, task.items[i], new_tokens);
      ItemKey key = generation_key(request);
      if (auto found = journal_.find(key)) {
        ++reused_;
        responses_[t][i] = std::move(*found);
        count_item(t);
        continue;
      }
      requests.push_back(std::move(request));
      owners.emplace_back(i, std::move(key));
    }
    infer::GenerationCallbacks callbacks;
    callbacks.on_token = [](std::size_t, std::int32_t, std::string_view) { throw_if_interrupted(); };
    callbacks.on_done = [&](std::size_t index, const infer::Generation& generation) {
      const auto& [item, key] = owners[index];
      responses_[t][item].text = generation.text;
      journal_.add(key, responses_[t][item]);
      count_item(t);
    };
    infer::generate(model_, &tokenizer_, requests, {.batch_size = options_.batch_sequences}, callbacks);
  }

  infer::GenerationRequest make_generation(const Task& task, const Item& item, std::int64_t new_tokens) const {
    infer::GenerationRequest request;
    request.prompt = encode_prompt(tokenizer_, item.context, options_.prefix);
    const auto room = static_cast<std::size_t>(model_.config.max_seq_len - new_tokens);
    if (request.prompt.size() > room) {
      request.prompt.erase(request.prompt.begin(), request.prompt.end() - static_cast<std::ptrdiff_t>(room));
    }
    request.max_tokens = new_tokens;
    request.stop = task.stop;
    if (const auto end = options_.end_token) {
      request.end_tokens = {*end};
      request.stop.emplace_back(tokenizer_.token_bytes(*end));
    }
    return request;
  }

  ItemKey generation_key(const infer::GenerationRequest& request) const {
    Sha256 hash;
    hash.update(fmt::format("generate {} {} {} {}\n", options_.model_name, model_.config.max_seq_len, tokenizer_name_,
                            request.max_tokens));
    for (const std::string& stop : request.stop) hash.update(stop + "\n");
    hash.update(as_bytes(request.prompt));
    return hash.hex();
  }

  const model::Transformer& model_;
  const text::Tokenizer& tokenizer_;
  std::span<const Task> tasks_;
  const RunnerOptions& options_;
  Log& log_;
  std::string tokenizer_name_;
  Journal journal_;
  Progress progress_;
  std::vector<std::vector<Response>> responses_;  // by task and item
  std::vector<Part> wave_;
  std::size_t wave_tokens_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, Text> texts_;  // rolling texts that are being scored, by task and item
  std::uint64_t done_ = 0, reused_ = 0, cut_ = 0;
};

}  // namespace

std::int64_t generation_tokens(const Task& task, std::int64_t max_seq_len) {
  return task.max_generated_tokens < max_seq_len ? task.max_generated_tokens
                                                 : std::max<std::int64_t>(1, max_seq_len / 2);
}

std::vector<std::vector<Response>> run_tasks(const model::Transformer& model, const text::Tokenizer& tokenizer,
                                             std::span<const Task> tasks, const RunnerOptions& options, Log& log) {
  return Runner(model, tokenizer, tasks, options, log).run();
}

}  // namespace crope::eval
