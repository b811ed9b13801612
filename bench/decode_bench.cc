// Speed of generation on a model of the paper's size with random weights, beside what the machine could do at best: its
// memory's bandwidth for decoding, its matrix products for prompts. All in one run, rounds of everything in turn.
//
//   build/release/bench/decode_bench [--rounds N] [--threads N] [--tokens N] [--json]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/statistics.h"
#include "crope/base/stopwatch.h"
#include "crope/base/threads.h"
#include "crope/infer/decoder.h"
#include "crope/model/cost.h"
#include "crope/model/transformer.h"
#include "crope/ops/tensor_memory.h"
#include "crope/study/machine_speed.h"
#include "crope/train/gemm_peak.h"

namespace {

using namespace crope;

struct Settings {
  int rounds = 5;
  int threads = 0;
  int tokens = 16;  // decoded in a measurement, after a prompt
  bool json = false;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json") {
      settings.json = true;
    } else if (i + 1 < argc && (name == "--rounds" || name == "--threads" || name == "--tokens")) {
      (name == "--rounds"    ? settings.rounds
       : name == "--threads" ? settings.threads
                             : settings.tokens) = std::max(1, std::atoi(argv[++i]));
    } else {
      fmt::print(stderr, "unknown argument '{}'\n", name);
      std::exit(2);
    }
  }
  return settings;
}

struct Case {
  std::string name;
  model::ModelConfig config;
  std::unique_ptr<infer::Decoder> decoder;
  double weight_bytes;  // read by one step
};

Case make_case(model::Variant variant, at::ScalarType type) {
  model::ModelConfig config;
  config.variant = variant;
  // Any numbers will do, and ATen draws them faster than the initialisation, which does not depend on threads.
  std::vector<at::Tensor> values;
  for (const model::ParameterSpec& spec : model::parameter_specs(config)) {
    values.push_back((at::rand(spec.shape) - 0.5).mul_(0.1).to(type));
  }
  const model::Transformer model = model::make_transformer(config, values);
  const double bytes = model::weight_bytes(config, type == at::kFloat ? ops::WeightType::fp32 : ops::WeightType::bf16);
  return {fmt::format("{} {}", model::traits(variant).name, type == at::kFloat ? "fp32" : "bf16"), config,
          std::make_unique<infer::Decoder>(model), bytes};
}

constexpr std::int64_t kPrompt = 32;  // tokens

// Tokens a second of `streams` sequences decoded together behind their prompts, greedily.
double decode(const Case& c, std::int64_t streams, int tokens) {
  std::vector<infer::KvCache> caches;
  std::vector<std::vector<std::int32_t>> ids;
  for (std::int64_t i = 0; i < streams; ++i) {
    caches.push_back(c.decoder->make_cache());
    caches.back().reserve(kPrompt + tokens);
    std::vector<std::int32_t> prompt;
    for (std::int32_t t = 0; t < kPrompt; ++t) prompt.push_back(static_cast<std::int32_t>((i + 1) * 97 + t * 31));
    const std::vector<infer::Chunk> chunks = {{&caches.back(), prompt}};
    c.decoder->append(chunks);
    ids.push_back({prompt.back()});
  }
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < streams; ++i) rows.push_back(i);
  const double seconds = seconds_of([&] {
    for (int t = 0; t < tokens; ++t) {
      std::vector<infer::Chunk> chunks;
      for (std::size_t i = 0; i < caches.size(); ++i) chunks.push_back({&caches[i], ids[i]});
      c.decoder->append(chunks);
      const at::Tensor best = c.decoder->logits(rows).argmax(1);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i][0] = static_cast<std::int32_t>(best.const_data_ptr<std::int64_t>()[i]);
      }
    }
  });
  return static_cast<double>(streams) * tokens / seconds;
}

double prefill(const Case& c, std::int64_t length) {
  std::vector<std::int32_t> prompt;
  for (std::int64_t t = 0; t < length; ++t) prompt.push_back(static_cast<std::int32_t>(t * 37 % 50000));
  infer::KvCache cache = c.decoder->make_cache();
  const std::vector<infer::Chunk> chunks = {{&cache, prompt}};
  return static_cast<double>(length) / seconds_of([&] {
           c.decoder->append(chunks);
           const std::vector<std::int64_t> rows = {length - 1};
           c.decoder->logits(rows);
         });
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  ops::keep_tensor_memory();
  at::set_num_threads(resolve_thread_count(settings.threads));
  std::vector<Case> cases;
  for (const model::Variant variant : {model::Variant::rope, model::Variant::crope_all}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) cases.push_back(make_case(variant, type));
  }
  std::map<std::string, std::vector<double>> values;
  const auto record = [&](const std::string& name, double value) { values[name].push_back(value); };
  decode(cases.front(), 1, 2);
  for (int round = 0; round < settings.rounds; ++round) {
    record("read bandwidth", study::read_bandwidth(/*passes=*/1));
    record("gemm peak", train::measure_gemm_peak(torch::kCPU));
    for (const Case& c : cases) {
      record(c.name + " decode 1", decode(c, 1, settings.tokens));
      record(c.name + " decode 8", decode(c, 8, settings.tokens));
      record(c.name + " prefill 512", prefill(c, 512));
    }
  }
  const double bandwidth = median(values["read bandwidth"]), peak = median(values["gemm peak"]);
  Json json = {
      {"threads", at::get_num_threads()}, {"read_gb_per_s", bandwidth / 1e9}, {"gemm_gflop_per_s", peak / 1e9}};
  if (!settings.json) {
    fmt::print("{} threads, reads {:.1f} GB/s, products {:.0f} GFLOP/s, medians of {}\n\n", at::get_num_threads(),
               bandwidth / 1e9, peak / 1e9, settings.rounds);
    fmt::print("{:<16}{:>12}{:>9}{:>8}{:>14}{:>8}{:>14}{:>8}\n", "model", "one stream", "GB/s", "share", "8 streams",
               "times", "prefill 512", "share");
  }
  for (const Case& c : cases) {
    const double one = median(values[c.name + " decode 1"]), eight = median(values[c.name + " decode 8"]);
    const double prompt = median(values[c.name + " prefill 512"]);
    const double cache = model::cost_per_token(c.config, 1).cache_bytes * (kPrompt + settings.tokens / 2.0);
    const double bytes_per_second = one * (c.weight_bytes + cache);
    // Of the prompt all tokens go through the layers, one through the output.
    const double output_flops = 2.0 * static_cast<double>(c.config.vocab_size * c.config.d_model);
    const double flops = prompt * (model::cost_per_token(c.config, 512).forward_flops - output_flops);
    json["models"].push_back({{"name", c.name},
                              {"decode_tokens_per_s", one},
                              {"decode_gb_per_s", bytes_per_second / 1e9},
                              {"share_of_bandwidth", bytes_per_second / bandwidth},
                              {"decode_8_tokens_per_s", eight},
                              {"prefill_tokens_per_s", prompt},
                              {"share_of_gemm_peak", flops / peak}});
    if (settings.json) continue;
    fmt::print("{:<16}{:>6.1f} tok/s{:>9.1f}{:>7.0f}%{:>8.1f} tok/s{:>7.1f}x{:>8.0f} tok/s{:>7.0f}%\n", c.name, one,
               bytes_per_second / 1e9, 100 * bytes_per_second / bandwidth, eight, eight / one, prompt,
               100 * flops / peak);
  }
  if (settings.json) fmt::print("{}\n", json.dump());
  return 0;
}
