#include "crope/infer/scorer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "crope/base/error.h"
#include "crope/base/parallel.h"
#include "crope/infer/batch_scorer.h"
#include "crope/infer/decoder.h"
#include "crope/infer/prefix_tree.h"
#include "crope/model/quantise.h"
#include "crope/ops/row_maximum.h"

namespace crope::infer {
namespace {

// Logits that are held at once. The weights are read, and laid out for the product, once for so many rows.
constexpr std::size_t kLogitRows = 1024;
constexpr std::int64_t kLogitColumns = 6288;  // an eighth of GPT-2's vocabulary; rows are no power of two apart

// Tokens that make a group for one thread, at least, and how many groups a thread should have.
constexpr std::int64_t kLeastGroup = 256, kGroupsOfAThread = 4;

// Inputs that have so many tokens in common share them. Among thousands of rows a short piece costs nothing of its own.
constexpr std::int64_t kShortestBranch = 2;

// `id` is predicted at `position` of the input, for a request.
struct Target {
  std::int64_t position;
  std::int32_t id;
  std::size_t request;
  float logit = 0;
};

// A node of the tree while it is worked on.
struct Work {
  std::optional<KvCache> cache;   // from the time its parent is done until it is done itself
  std::vector<Target> targets;    // by position
  std::vector<std::size_t> ends;  // requests whose input ends here
  std::int64_t done = 0;          // tokens
};

// Context and continuation without the last token, cut to the window from the left.
std::vector<std::int32_t> input_of(const ScoreRequest& request, std::int64_t window) {
  std::vector<std::int32_t> ids = request.context;
  ids.insert(ids.end(), request.continuation.begin(), request.continuation.end() - 1);
  const auto excess = static_cast<std::ptrdiff_t>(ids.size()) - window;
  if (excess > 0) ids.erase(ids.begin(), ids.begin() + excess);
  return ids;
}

// Takes up what is known of further logits of a row, which begin at `first`.
void merge(const ops::RowMaximum& further, std::int64_t first, ops::RowMaximum& row) {
  const double high = std::max(row.log_sum_exp, further.log_sum_exp);
  row.log_sum_exp = first == 0
                        ? further.log_sum_exp
                        : high + std::log(std::exp(row.log_sum_exp - high) + std::exp(further.log_sum_exp - high));
  if (first > 0 && !(further.value > row.value)) return;
  row.index = first + further.index;
  row.value = further.value;
}

void check_request(std::size_t index, const ScoreRequest& request, const model::ModelConfig& config) {
  if (request.context.empty() || request.continuation.empty()) {
    throw UsageError(fmt::format("score request {}: {} is empty", index,
                                 request.context.empty() ? "the context" : "the continuation"),
                     "a context without text is one end-of-text token");
  }
  if (static_cast<std::int64_t>(request.continuation.size()) > config.max_seq_len) {
    throw UsageError(fmt::format("score request {}: a continuation of {} tokens, the window has {} (max_seq_len)",
                                 index, request.continuation.size(), config.max_seq_len));
  }
  for (const auto* ids : {&request.context, &request.continuation}) {
    for (const std::int32_t id : *ids) {
      if (id >= 0 && id < config.vocab_size) continue;
      throw UsageError(
          fmt::format("score request {}: token id {} is outside the vocabulary of {}", index, id, config.vocab_size),
          "the tokenizer and the model do not belong together");
    }
  }
}

class Scorer {
 public:
  Scorer(const model::Transformer& model, std::span<const ScoreRequest> requests, const ScorerOptions& options,
         const std::function<void(std::size_t, const Score&)>& on_score)
      : model_(model), options_(options), on_score_(on_score), scores_(requests.size(), Score{0, true}) {
    decoders_.emplace_back(model);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      inputs_.push_back(input_of(requests[i], model.config.max_seq_len));
    }
    const std::vector<std::span<const std::int32_t>> views(inputs_.begin(), inputs_.end());
    tree_ = make_prefix_tree(views, kShortestBranch);
    work_.resize(tree_.nodes.size());
    for (std::size_t i = 0; i < requests.size(); ++i) assign_targets(i, requests[i].continuation);
    for (std::size_t node = tree_.nodes.size(); node-- > 0;) {
      if (tree_.nodes[node].parent == PrefixNode::kNone) start(node, decoders_[0].make_cache());
    }
  }

  void run() {
    while (!ready_.empty()) run_batch();
  }

 private:
  // Part of a node in a batch.
  struct Piece {
    std::size_t node;
    std::int64_t begin, end;  // positions
    std::int64_t asked;       // the first of them that predicts anything; end: none
  };

  // Row `row` of a decoder's output predicts for targets [begin, end) of a node.
  struct Prediction {
    std::int64_t row;
    Target* begin;
    Target* end;
  };

  void assign_targets(std::size_t request, const std::vector<std::int32_t>& continuation) {
    std::size_t node = tree_.last[request];
    work_[node].ends.push_back(request);
    const auto size = static_cast<std::int64_t>(inputs_[request].size());
    for (std::int64_t left = static_cast<std::int64_t>(continuation.size()); left > 0; --left) {
      const std::int64_t position = size - static_cast<std::int64_t>(continuation.size()) + left - 1;
      while (tree_.nodes[node].begin > position) node = tree_.nodes[node].parent;
      work_[node].targets.push_back({position, continuation[static_cast<std::size_t>(left - 1)], request});
    }
  }

  void start(std::size_t node, KvCache cache) {
    Work& work = work_[node];
    std::stable_sort(work.targets.begin(), work.targets.end(),
                     [](const Target& x, const Target& y) { return x.position < y.position; });
    work.cache = std::move(cache);
    ready_.push_back(node);
  }

  // The first position of [begin, end) that predicts anything for a request; end if none does.
  std::int64_t first_asked(std::size_t node, std::int64_t begin, std::int64_t end) const {
    const std::vector<Target>& targets = work_[node].targets;
    const auto next = std::ranges::lower_bound(targets, begin, {}, &Target::position);
    return next == targets.end() ? end : std::min(next->position, end);
  }

  // The latest nodes first: what they share is let go soon.
  void run_batch() {
    std::vector<Piece> pieces;
    std::int64_t rows = 0;
    while (!ready_.empty() && rows < options_.batch_tokens) {
      const std::size_t node = ready_.back();
      const PrefixNode& place = tree_.nodes[node];
      const std::int64_t begin = place.begin + work_[node].done;
      const std::int64_t end = std::min(place.end, begin + options_.batch_tokens - rows);
      const bool is_whole = begin == place.begin && end == place.end;
      if (is_whole && place.children.empty()) {
        work_[node].cache->reserve_for_one_step(end - begin);
      } else {
        work_[node].cache->reserve(place.end - begin);
      }
      pieces.push_back({node, begin, end, first_asked(node, begin, end)});
      work_[node].done += end - begin;
      rows += end - begin;
      if (end < place.end) break;
      ready_.pop_back();
    }
    const auto threads = static_cast<std::size_t>(thread_count());
    const std::vector<std::span<const Piece>> groups = grouped(pieces, rows, static_cast<std::int64_t>(threads));
    if (groups.size() < threads) {
      score_pieces(decoders_[0], pieces);
    } else {
      while (decoders_.size() < threads) decoders_.emplace_back(model_);
      parallel_items(static_cast<std::int64_t>(groups.size()), [&](std::int64_t group, std::int64_t worker) {
        score_pieces(decoders_[static_cast<std::size_t>(worker)], groups[static_cast<std::size_t>(group)]);
      });
    }
    for (const Piece& piece : pieces) {
      if (piece.end == tree_.nodes[piece.node].end) finish(piece.node);
    }
  }

  // Neighbouring pieces together, several groups for each thread: a thread that has one to itself waits for nobody
  // between products, and what it works on stays near. One group where pieces are too large to share out.
  static std::vector<std::span<const Piece>> grouped(std::span<const Piece> pieces, std::int64_t rows,
                                                     std::int64_t threads) {
    if (threads == 1) return {pieces};
    const std::int64_t enough = std::max(kLeastGroup, rows / (kGroupsOfAThread * threads));
    std::vector<std::span<const Piece>> groups;
    std::size_t begin = 0;
    std::int64_t held = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      held += pieces[i].end - pieces[i].begin;
      if (held > 2 * enough) return {pieces};
      if (held < enough && i + 1 < pieces.size()) continue;
      groups.push_back(pieces.subspan(begin, i + 1 - begin));
      begin = i + 1;
      held = 0;
    }
    return groups;
  }

  // REQUIRES: no node is worked on by two threads at once. No request has two nodes in a batch.
  void score_pieces(Decoder& decoder, std::span<const Piece> pieces) {
    std::vector<Chunk> chunks;
    for (const Piece& piece : pieces) {
      const auto ids = std::span(inputs_[tree_.nodes[piece.node].input]);
      chunks.push_back(
          {&*work_[piece.node].cache,
           ids.subspan(static_cast<std::size_t>(piece.begin), static_cast<std::size_t>(piece.end - piece.begin)),
           piece.asked - piece.begin});
    }
    decoder.append(chunks);
    std::vector<Prediction> predictions;
    std::int64_t row = 0;
    for (const Piece& piece : pieces) {
      std::vector<Target>& targets = work_[piece.node].targets;
      for (std::size_t i = 0; i < targets.size();) {
        std::size_t next = i + 1;
        while (next < targets.size() && targets[next].position == targets[i].position) ++next;
        if (targets[i].position >= piece.asked && targets[i].position < piece.end) {
          predictions.push_back({row + targets[i].position - piece.asked, &targets[i], targets.data() + next});
        }
        i = next;
      }
      row += piece.end - piece.asked;
    }
    std::vector<std::int64_t> rows;
    for (std::size_t begin = 0; begin < predictions.size(); begin += kLogitRows) {
      const std::size_t end = std::min(predictions.size(), begin + kLogitRows);
      rows.clear();
      for (std::size_t i = begin; i < end; ++i) rows.push_back(predictions[i].row);
      add_predictions(decoder, std::span(predictions).subspan(begin, end - begin), rows);
    }
  }

  // The scores of a row are summed in the order of positions, by one thread.
  void add_predictions(Decoder& decoder, std::span<const Prediction> predictions, std::span<const std::int64_t> rows) {
    std::vector<ops::RowMaximum> maxima(predictions.size());
    decoder.for_logit_panels(rows, kLogitColumns, [&](std::int64_t first, const at::Tensor& logits) {
      const std::vector<ops::RowMaximum> panel_maxima = ops::row_maxima(logits);
      const auto values = logits.accessor<float, 2>();
      for (std::size_t r = 0; r < maxima.size(); ++r) {
        merge(panel_maxima[r], first, maxima[r]);
        for (Target* target = predictions[r].begin; target != predictions[r].end; ++target) {
          const std::int64_t column = target->id - first;
          if (column >= 0 && column < values.size(1)) target->logit = values[static_cast<std::int64_t>(r)][column];
        }
      }
    });
    for (std::size_t r = 0; r < maxima.size(); ++r) {
      for (const Target* target = predictions[r].begin; target != predictions[r].end; ++target) {
        Score& score = scores_[target->request];
        score.log_likelihood += target->logit - maxima[r].log_sum_exp;
        score.is_greedy = score.is_greedy && maxima[r].index == target->id;
      }
    }
  }

  void finish(std::size_t node) {
    Work& work = work_[node];
    for (const std::size_t child : tree_.nodes[node].children) start(child, work.cache->fork(tree_.nodes[node].end));
    work.cache.reset();
    work.targets = {};
    for (const std::size_t request : work.ends) on_score_(request, scores_[request]);
  }

  const model::Transformer& model_;
  std::deque<Decoder> decoders_;  // one for each thread that has been at work
  ScorerOptions options_;
  const std::function<void(std::size_t, const Score&)>& on_score_;
  std::vector<Score> scores_;
  std::vector<std::vector<std::int32_t>> inputs_;
  PrefixTree tree_;
  std::vector<Work> work_;          // by node
  std::vector<std::size_t> ready_;  // nodes whose parents are done
};

}  // namespace

void score_requests(const model::Transformer& model, std::span<const ScoreRequest> requests,
                    const ScorerOptions& options, const std::function<void(std::size_t, const Score&)>& on_score) {
  if (options.batch_tokens < 1) {
    throw UsageError(fmt::format("batch tokens: expected a number from 1, got {}", options.batch_tokens));
  }
  for (std::size_t i = 0; i < requests.size(); ++i) check_request(i, requests[i], model.config);
  const bool is_on_cpu = model::device_of(model).is_cpu();
  const bool is_cached =
      options.engine == ScoreEngine::cached || (options.engine == ScoreEngine::automatic && is_on_cpu);
  if (!is_cached) {
    if (ops::is_quantised(model::weight_type(model))) {
      throw UsageError("the engine 'torch' reads weights in fp32 or bf16 alone",
                       "use the engine 'cached', or fp32 weights");
    }
    score_in_batches(model, requests, options, on_score);
    return;
  }
  if (!is_on_cpu)
    throw UsageError("the engine 'cached' works on the CPU alone", "use the engine 'torch', or the device cpu");
  Scorer(model, requests, options, on_score).run();
}

}  // namespace crope::infer
