// One training step by part: forward, backward, optimiser; best and median of the rounds, and where the time went.
//
//   build/release/bench/step_bench [paper|small] [variant ...] [--rounds N] [--threads N] [--rows N] [--no-optimizer]
//                                  [--malloc] [--recompute] [--profile]
//   build/release/bench/step_bench [paper|small] variant --serve
//     takes "gradients", "update" and "memory" from standard input, a line each, and answers with a line of JSON: what
//     bench/compare_pytorch.py talks to, so that both sides take turns.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/memory.h"
#include "crope/base/threads.h"
#include "crope/model/cost.h"
#include "crope/model/init.h"
#include "crope/ops/profile.h"
#include "crope/ops/tensor_memory.h"
#include "crope/train/gemm_peak.h"
#include "crope/train/optimizer.h"

namespace {

using namespace crope;
using torch::Tensor;

struct Settings {
  std::string size = "paper";
  std::vector<std::string> variants;
  int rounds = 5;
  int threads = 0;
  int64_t rows = 0;  // 0: those of the size
  bool optimizer = true;
  bool keep_memory = true;
  bool profile = false;
  bool serve = false;
  model::Activations activations = model::Activations::kept;
};

struct Size {
  model::ModelConfig config;
  int64_t rows, length;
};

Size size_of(const Settings& settings) {
  Size size{{}, 2, 512};
  if (settings.size == "small") {
    size = {{.vocab_size = 4096, .num_layers = 4, .num_heads = 4, .d_model = 256, .d_ff = 512}, 16, 256};
  }
  if (settings.rows > 0) size.rows = settings.rows;
  return size;
}

// Processor time of all threads: on a machine that others use, steadier than the clock.
double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Seconds {
  double wall = 0, processor = 0;
};
Seconds seconds_of(const auto& work) {
  const double processor = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          processor_seconds() - processor};
}

// A model of random weights, its optimiser and a batch of random tokens.
struct Step {
  Step(const Settings& settings, const std::string& variant) : activations(settings.activations) {
    Size size = size_of(settings);
    size.config.variant = model::variant_by_name(variant);
    model = model::make_random_transformer(size.config);
    model::set_requires_grad(model, true);
    optimizer = std::make_unique<train::Optimizer>(model);
    at::manual_seed(1);
    tokens = at::randint(size.config.vocab_size, {size.rows, size.length + 1}, torch::kInt64);
    flops =
        model::cost_per_token(size.config, size.length).training_flops * static_cast<double>(size.rows * size.length);
  }

  void drop_gradients() {
    for (model::Parameter& parameter : model.parameters) parameter.value.mutable_grad() = Tensor();
  }

  // Weights, gradients and the optimiser's state: what every way of computing a step must hold.
  std::size_t lasting_bytes() const {
    std::size_t bytes = 0;
    for (const model::Parameter& parameter : model.parameters) bytes += 2 * parameter.value.nbytes();
    for (const train::NamedState& state : optimizer->state()) bytes += state.value.nbytes();
    return bytes;
  }

  model::Activations activations;
  model::Transformer model;
  std::unique_ptr<train::Optimizer> optimizer;
  Tensor tokens;
  double flops = 0;  // of forward and backward
};

void print_profile(const ops::Profile& profile, double seconds, int rounds, double peak) {
  double known = 0;
  const auto row = [&](const std::string& name, int64_t calls, double part, double flops) {
    fmt::print("  {:<32}{:>6} calls {:>9.1f} ms {:>5.1f}%", name, calls / rounds, 1e3 * part / rounds,
               100 * part / seconds);
    if (flops > 0) fmt::print("{:>8.1f} GF/s, {:>4.0f}% of the peak", 1e-9 * flops / part, 100 * flops / part / peak);
    fmt::print("\n");
  };
  for (const ops::ProfileRow& part : profile.rows()) {
    row(part.name, part.calls, part.seconds, part.flops);
    known += part.seconds;
  }
  row("between them", 0, seconds - known, 0);
}

void run(const Settings& settings, const std::string& variant) {
  Step step(settings, variant);
  std::map<std::string, std::vector<Seconds>> times;
  const double peak = train::measure_gemm_peak(torch::kCPU);
  ops::Profile profile;
  double last_loss = 0, total = 0;
  for (int round = 0; round <= settings.rounds; ++round) {
    ops::Profile first_touches;
    const ops::ProfileScope scope(round == 0 ? first_touches : profile);
    Tensor loss;
    const Seconds forward = seconds_of([&] { loss = model::loss(step.model, step.tokens, settings.activations); });
    const Seconds backward = seconds_of([&] { loss.backward(); });
    const Seconds update = seconds_of([&] {
      if (settings.optimizer) step.optimizer->step(1e-3);
    });
    step.drop_gradients();
    last_loss = loss.item<double>();
    if (round == 0) continue;
    total += forward.wall + backward.wall + update.wall;
    times["1 forward"].push_back(forward);
    times["2 backward"].push_back(backward);
    times["3 both"].push_back({forward.wall + backward.wall, forward.processor + backward.processor});
    times["4 optimiser"].push_back(update);
  }
  for (auto& [part, seconds] : times) {
    std::ranges::sort(seconds, {}, &Seconds::wall);
    const double best = seconds.front().wall, median = seconds[seconds.size() / 2].wall;
    const double processor = std::ranges::min(seconds, {}, &Seconds::processor).processor;
    fmt::print("{:10} {:12} best {:8.1f} ms  median {:8.1f} ms  processor {:8.1f} ms", variant, part, 1e3 * best,
               1e3 * median, 1e3 * processor);
    if (part == "3 both") fmt::print("  {:.0f}% of {:.0f} GF/s", 100 * step.flops / median / peak, 1e-9 * peak);
    fmt::print("\n");
  }
  fmt::print("{:10} loss {:.6f}, peak {}\n", variant, last_loss, format_bytes(static_cast<double>(peak_memory())));
  if (settings.profile) print_profile(profile, total, settings.rounds, peak);
  std::fflush(stdout);
}

void serve(const Settings& settings) {
  const std::uint64_t before = resident_memory();
  Step step(settings, settings.variants.front());
  for (std::string command; std::getline(std::cin, command);) {
    Json answer;
    if (command == "gradients") {
      step.drop_gradients();
      answer["seconds"] = seconds_of([&] { model::loss(step.model, step.tokens, step.activations).backward(); }).wall;
    } else if (command == "update") {
      answer["seconds"] = seconds_of([&] { step.optimizer->step(1e-3); }).wall;
    } else if (command == "memory") {
      answer = {{"peak", peak_memory()}, {"before", before}, {"lasting", step.lasting_bytes()}};
    } else if (command == "peak") {
      answer = {{"gemm_peak", train::measure_gemm_peak(torch::kCPU)}, {"flops", step.flops}};
    } else {
      answer = {{"error", "unknown command"}};
    }
    fmt::print("{}\n", answer.dump());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "paper" || argument == "small")
      settings.size = argument;
    else if (argument == "--rounds" && i + 1 < argc)
      settings.rounds = std::atoi(argv[++i]);
    else if (argument == "--threads" && i + 1 < argc)
      settings.threads = std::atoi(argv[++i]);
    else if (argument == "--rows" && i + 1 < argc)
      settings.rows = std::atoi(argv[++i]);
    else if (argument == "--no-optimizer")
      settings.optimizer = false;
    else if (argument == "--malloc")
      settings.keep_memory = false;
    else if (argument == "--profile")
      settings.profile = true;
    else if (argument == "--serve")
      settings.serve = true;
    else if (argument == "--recompute")
      settings.activations = model::Activations::recomputed;
    else
      settings.variants.push_back(argument);
  }
  if (settings.variants.empty()) settings.variants = {"rope", "crope_all"};
  at::set_num_threads(resolve_thread_count(settings.threads));
  if (settings.keep_memory) ops::keep_tensor_memory();
  if (settings.serve) {
    serve(settings);
    return 0;
  }
  for (const std::string& variant : settings.variants) run(settings, variant);
  return 0;
}
