// One training step by part: forward, backward, optimiser; best and median of the rounds.
//
//   build/release/bench/step_bench [paper|small] [variant ...] [--rounds N] [--threads N] [--no-optimizer]
//                                  [--malloc] [--recompute]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "crope/base/threads.h"
#include "crope/model/init.h"
#include "crope/ops/tensor_memory.h"
#include "crope/train/optimizer.h"

namespace {

using namespace crope;
using torch::Tensor;

struct Settings {
  std::string size = "paper";
  std::vector<std::string> variants;
  int rounds = 5;
  int threads = 0;
  bool optimizer = true;
  bool keep_memory = true;
  model::Activations activations = model::Activations::kept;
};

struct Size {
  model::ModelConfig config;
  int64_t rows, length;
};

Size size_by_name(const std::string& name) {
  if (name == "small") {
    return {{.vocab_size = 4096, .num_layers = 4, .num_heads = 4, .d_model = 256, .d_ff = 256}, 16, 256};
  }
  return {{}, 2, 512};
}

double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
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

void run(const Settings& settings, const std::string& variant) {
  Size size = size_by_name(settings.size);
  size.config.variant = model::variant_by_name(variant);
  model::Transformer model = model::make_random_transformer(size.config);
  model::set_requires_grad(model, true);
  train::Optimizer optimizer(model);
  at::manual_seed(1);
  const Tensor tokens = at::randint(size.config.vocab_size, {size.rows, size.length + 1}, torch::kInt64);
  std::map<std::string, std::vector<Seconds>> times;
  double last_loss = 0;
  for (int round = 0; round <= settings.rounds; ++round) {
    Tensor loss;
    const Seconds forward = seconds_of([&] { loss = model::loss(model, tokens, settings.activations); });
    const Seconds backward = seconds_of([&] { loss.backward(); });
    const Seconds update = seconds_of([&] {
      if (settings.optimizer) optimizer.step(1e-3);
    });
    for (model::Parameter& parameter : model.parameters) parameter.value.mutable_grad() = Tensor();
    last_loss = loss.item<double>();
    if (round == 0) continue;  // first touches
    times["1 forward"].push_back(forward);
    times["2 backward"].push_back(backward);
    times["3 both"].push_back({forward.wall + backward.wall, forward.processor + backward.processor});
    times["4 optimiser"].push_back(update);
  }
  for (auto& [part, seconds] : times) {
    std::ranges::sort(seconds, {}, &Seconds::wall);
    const double best = seconds.front().wall, median = seconds[seconds.size() / 2].wall;
    const double processor = std::ranges::min(seconds, {}, &Seconds::processor).processor;
    fmt::print("{:10} {:12} best {:8.1f} ms  median {:8.1f} ms  processor {:8.1f} ms\n", variant, part, 1e3 * best,
               1e3 * median, 1e3 * processor);
  }
  fmt::print("{:10} loss {:.6f}, peak {:.0f} MB\n", variant, last_loss, peak_megabytes());
  std::fflush(stdout);
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
    else if (argument == "--no-optimizer")
      settings.optimizer = false;
    else if (argument == "--malloc")
      settings.keep_memory = false;
    else if (argument == "--recompute")
      settings.activations = model::Activations::recomputed;
    else
      settings.variants.push_back(argument);
  }
  if (settings.variants.empty()) settings.variants = {"rope", "crope_all"};
  at::set_num_threads(resolve_thread_count(settings.threads));
  if (settings.keep_memory) ops::keep_tensor_memory();
  for (const std::string& variant : settings.variants) run(settings, variant);
  return 0;
}
