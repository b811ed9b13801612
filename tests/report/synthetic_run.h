// A small run directory as training and evaluation leave it, with made-up numbers.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/file.h"
#include "crope/base/json.h"

namespace crope::test {

struct SyntheticRun {
  std::string variant = "rope";
  int steps = 600;
  double final_loss = 3.0;
  std::optional<int> seed = {};  // noted in run.json
  bool validates = true;
  bool evaluated = true;
};

inline std::filesystem::path make_run(const std::filesystem::path& dir, const SyntheticRun& run) {
  std::filesystem::create_directories(dir);
  Json model = {{"vocab_size", 512},    {"num_layers", 2},  {"num_heads", 2},    {"d_model", 32},         {"d_ff", 32},
                {"rope_theta", 5000.0}, {"norm_eps", 1e-6}, {"max_seq_len", 64}, {"variant", run.variant}};
  Json train = {{"steps", run.steps}, {"batch_size", 8}, {"seq_len", 64}, {"lr", 2e-3}};
  if (run.seed) {
    train["seed"] = *run.seed;
    model["init"] = {{"embedding_std", 0.02}, {"seed", *run.seed}};
  }
  write_json(dir / "run.json", {{"model", model},
                                {"train", train},
                                {"version", "0.1.0"},
                                {"data", {{"tokens", 100000}}},
                                {"command", "crope train --data data --out " + dir.filename().string()}});
  std::string metrics;
  for (int step = 1; step <= run.steps; ++step) {
    const double noise = 0.05 * std::sin(step * 12.9898);
    const double loss = run.final_loss + 4 * std::exp(-step / (run.steps / 8.0)) + noise;
    metrics +=
        fmt::format(
            R"({{"step":{},"tokens":{},"loss":{:.5f},"lr":0.001,"grad_norm":1.0,"tokens_per_second":{},"elapsed_s":{}}})",
            step, step * 512, loss, 9000 + 10 * (step % 7), step * 0.05) +
        "\n";
    if (run.validates && step % 50 == 0)
      metrics += fmt::format(R"({{"step":{},"val_loss":{:.5f}}})", step, loss - noise + 0.02) + "\n";
  }
  write_file(dir / "metrics.jsonl", metrics);
  if (run.evaluated) {
    const double better = 0.02 * (3.4 - run.final_loss);
    write_json(dir / "results.json", {{"results",
                                       {{"hellaswag",
                                         {{"alias", "hellaswag"},
                                          {"acc,none", 0.29},
                                          {"acc_norm,none", 0.32 + better},
                                          {"acc_norm_stderr,none", 0.0046}}},
                                        {"mmlu", {{"acc,none", 0.23}, {"acc_stderr,none", 0.0035}}},
                                        {"gsm8k",
                                         {{"exact_match,strict-match", 0.0},
                                          {"exact_match,flexible-extract", 0.013},
                                          {"exact_match_stderr,flexible-extract", 0.003}}}}},
                                      {"n-shot", {{"hellaswag", 0}, {"mmlu", 0}, {"gsm8k", 0}}}});
  }
  return dir;
}

// <variant>_<seed>/ for each variant and seed: losses rise by 0.02 from variant to variant and by 0.01 from seed to
// seed.
inline std::filesystem::path make_study(const std::filesystem::path& dir, const std::vector<std::string>& variants,
                                        int seeds, int steps = 600) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (int seed = 0; seed < seeds; ++seed) {
      make_run(
          dir / fmt::format("{}_{}", variants[i], seed),
          {.variant = variants[i], .steps = steps, .final_loss = 3 + 0.02 * double(i) + 0.01 * seed, .seed = seed});
    }
  }
  return dir;
}

}  // namespace crope::test
