#include "crope/analysis/toy_task.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "crope/base/error.h"
#include "crope/base/progress.h"
#include "crope/base/random.h"
#include "crope/ops/attention.h"
#include "crope/ops/rms_norm.h"
#include "crope/ops/rope.h"
#include "crope/ops/weight.h"
#include "crope/optim/adamw.h"
#include "crope/optim/schedule.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

constexpr double kNormEps = 1e-6;

struct ToyBatch {
  Tensor ids;      // [B, T], content * 2 + type
  Tensor answers;  // [R], of the places that have one
  Tensor places;   // [R], of them in the flattened [B T]
};

ToyBatch draw_batch(std::int64_t B, const ToyOptions& options, RandomStream& stream) {
  const int64_t T = options.T;
  Tensor ids = at::empty({B, T}, at::kLong);
  auto* id = ids.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < B * T; ++i) {
    id[i] = static_cast<int64_t>(stream.below(static_cast<std::uint64_t>(2 * options.num_contents)));
  }
  std::vector<int64_t> answers, places;
  for (int64_t i = 0; i < B * T; ++i) {
    const int64_t step = 1 + id[i] % 2;
    if (i % T + step >= T) continue;
    places.push_back(i);
    answers.push_back(id[i + step] / 2);
  }
  return {ids, at::tensor(answers, at::kLong), at::tensor(places, at::kLong)};
}

// One layer: embedding, attention of one head, and a linear map to contents.
class ToyLayer {
 public:
  ToyLayer(ToyKind kind, std::uint64_t seed, const ToyOptions& options) : kind_(kind), options_(options), seed_(seed) {
    const int64_t D = options.D, K = kind == ToyKind::half_rope ? D / 2 : D;
    embedding_ = parameter("embedding", {2 * options.num_contents, D}, 1);
    q_ = projection("q", K);
    k_ = projection("k", K);
    v_ = projection("v", K);
    if (kind == ToyKind::relative) distances_ = counted(parameter("distances", {2 * options.T - 1, D}, 1));
    q_gain_ = gain(K);
    k_gain_ = gain(K);
    output_ = parameter("output", {options.num_contents, K}, 1 / std::sqrt(static_cast<double>(K)));
  }

  // Logits of the contents [B T, C]; the first token stands at `first_position`.
  Tensor forward(const Tensor& ids, int64_t first_position) const {
    const int64_t B = ids.size(0), T = ids.size(1), D = options_.D;
    const Tensor tokens = embedding_.index_select(0, ids.view({-1})).view({B, T, D});
    const Tensor at_positions = at::arange(first_position, first_position + T);
    Tensor x = tokens;
    if (kind_ == ToyKind::absolute) {
      const auto table = ops::rope_table(at_positions, D, options_.rope_theta, at::kFloat);
      x = x + at::cat({table.cos, table.sin}, 1) * std::numbers::sqrt2;
    }
    const Tensor q = ops::project(x, q_), k = ops::project(x, k_), v = ops::project(tokens, v_);
    const Tensor mixed = kind_ == ToyKind::relative ? relative_attention(q, k, v) : attention(q, k, v, at_positions);
    return mixed.reshape({B * T, -1}).mm(output_.t());
  }

  const std::vector<optim::AdamwTensor>& parameters() const { return parameters_; }
  std::int64_t counted_parameters() const { return counted_; }

 private:
  Tensor parameter(const std::string& name, std::vector<int64_t> shape, double deviation) {
    const RandomStream stream(seed_, "toy." + name);
    Tensor value = at::empty(shape, at::kFloat);
    auto* data = value.mutable_data_ptr<float>();
    for (int64_t i = 0; i < value.numel(); ++i) {
      data[i] = static_cast<float>(deviation * stream.normal_at(static_cast<std::uint64_t>(i)));
    }
    return keep(value);
  }
  Tensor gain(int64_t K) { return keep(at::ones({K})); }
  Tensor keep(Tensor value) {
    value.set_requires_grad(true);
    parameters_.push_back({.value = value});
    return value;
  }
  Tensor counted(Tensor value) {
    counted_ += value.numel();
    return value;
  }
  ops::Weight projection(const std::string& name, int64_t out) {
    const int64_t D = options_.D;
    const double deviation = 1 / std::sqrt(static_cast<double>(D));
    if (kind_ != ToyKind::crope) return ops::DenseWeight{counted(parameter(name, {out, D}, deviation))};
    const Tensor a = counted(parameter(name + ".a", {out / 2, D / 2}, deviation));
    return ops::ComplexWeight{a, counted(parameter(name + ".b", {out / 2, D / 2}, deviation))};
  }

  Tensor attention(Tensor q, Tensor k, const Tensor& v, const Tensor& at_positions) const {
    q = ops::rms_norm(q, q_gain_, kNormEps);
    k = ops::rms_norm(k, k_gain_, kNormEps);
    if (kind_ != ToyKind::absolute) {
      const auto table = ops::rope_table(at_positions, q.size(-1), options_.rope_theta, at::kFloat);
      q = ops::rope(q, table);
      k = ops::rope(k, table);
    }
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    return ops::attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), {.scale = scale, .mask = ops::Mask::none});
  }

  // Eq. pe-rel as its four terms, like ConstructedHead.
  Tensor relative_attention(const Tensor& q, const Tensor& k, const Tensor& v) const {
    const int64_t B = q.size(0), T = q.size(1);
    const Tensor pq = ops::project(distances_, q_), pk = ops::project(distances_, k_);
    const Tensor n = at::arange(T), distance = n.unsqueeze(0) - n.unsqueeze(1) + (options_.T - 1);
    const Tensor token_position = q.matmul(pk.t()).gather(2, distance.expand({B, T, T}));
    const Tensor position_token = k.matmul(pq.t()).gather(2, distance.t().expand({B, T, T})).transpose(1, 2);
    const Tensor position_position = (pq * pk).sum(1).index_select(0, distance.reshape({-1})).view({T, T});
    const Tensor scores = q.bmm(k.transpose(1, 2)) + token_position + position_token + position_position;
    return (scores / std::sqrt(static_cast<double>(options_.D))).softmax(2).bmm(v);
  }

  ToyKind kind_;
  ToyOptions options_;
  std::uint64_t seed_;
  std::vector<optim::AdamwTensor> parameters_;
  std::int64_t counted_ = 0;
  Tensor embedding_, q_gain_, k_gain_, output_, distances_;
  ops::Weight q_, k_, v_;
};

// One thread while it lives: these products are so small that waking a second one takes longer than they do.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

double accuracy(const ToyLayer& layer, const ToyBatch& batch, std::int64_t first_position) {
  const at::NoGradGuard no_grad;
  const Tensor guesses = layer.forward(batch.ids, first_position).argmax(1).index_select(0, batch.places);
  return guesses.eq(batch.answers).to(at::kDouble).mean().item<double>();
}

void check(const ToyOptions& options) {
  if (options.D <= 0 || options.D % 8 != 0) {
    throw UsageError(fmt::format("a toy layer of width {}: expected a positive multiple of 8", options.D));
  }
  if (options.T < 3) throw UsageError(fmt::format("toy sequences of {} tokens: expected at least 3", options.T));
  if (options.steps < 1 || options.batch_size < 1 || options.num_contents < 2 || options.evaluate_every < 1) {
    throw UsageError("the toy task needs at least one step, one row, two contents and an interval of one step");
  }
}

}  // namespace

ToyRun train_toy(ToyKind kind, std::uint64_t seed, const ToyOptions& options) {
  check(options);
  const OneThread one_thread;
  const ToyLayer layer(kind, seed, options);
  ToyRun run{.kind = kind, .D = options.D, .seed = seed, .parameters = layer.counted_parameters()};
  RandomStream training(seed, "toy.training"), testing(seed, "toy.testing");
  const ToyBatch unseen = draw_batch(options.evaluation_rows, options, testing);
  const optim::Schedule schedule{
      .lr = options.lr, .min_lr = options.lr / 10, .warmup_steps = 10, .steps = options.steps};
  optim::Adamw optimizer(layer.parameters(), {});
  for (std::int64_t step = 0; step <= options.steps; ++step) {
    if (step % options.evaluate_every == 0 || step == options.steps) {
      run.steps.push_back(step);
      run.accuracy.push_back(accuracy(layer, unseen, 0));
    }
    if (step == options.steps) break;
    const ToyBatch batch = draw_batch(options.batch_size, options, training);
    const Tensor logits = layer.forward(batch.ids, 0).index_select(0, batch.places);
    const Tensor loss = at::cross_entropy_loss(logits, batch.answers);
    for (const optim::AdamwTensor& each : layer.parameters()) each.value.mutable_grad() = Tensor();
    loss.backward();
    optimizer.step(optim::learning_rate(schedule, step));
  }
  for (const std::int64_t first : options.first_positions) run.moved_accuracy.push_back(accuracy(layer, unseen, first));
  return run;
}

std::vector<ToyRun> study_toy_task(const ToyOptions& options, const std::vector<std::int64_t>& widths, Log& log) {
  std::vector<ToyRun> runs;
  const std::uint64_t total = kToyKinds.size() * widths.size() * options.seeds.size();
  Progress progress(log, {.label = "trained examples", .unit = "runs", .total = total});
  for (const std::int64_t D : widths) {
    ToyOptions here = options;
    here.D = D;
    for (const ToyKind kind : kToyKinds) {
      for (const std::uint64_t seed : options.seeds) {
        runs.push_back(train_toy(kind, seed, here));
        progress.update(runs.size(), fmt::format("{}, D = {}", toy_kind_name(kind), D));
      }
    }
  }
  return runs;
}

}  // namespace crope::analysis
