// Studies with made-up numbers, in memory and as run directories.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/model/variant.h"
#include "crope/study/claims.h"

namespace crope::test {

using study::Claim;
using study::StudyRun;

// Values near those of a study in which the paper is right.
inline const std::map<std::string, double> kOrderedLosses = {{"rope", 3.000},         {"crope_qk", 3.010},
                                                             {"crope_qkv", 3.020},    {"crope_all", 3.030},
                                                             {"half_rope_qk", 3.030}, {"half_rope_all", 3.045}};

inline StudyRun loss_run(const std::string& variant, std::int64_t seed, double val_loss) {
  return {.name = fmt::format("{}_{}", variant, seed), .variant = variant, .seed = seed, .val_loss = val_loss};
}

inline const Claim& find_claim(const std::vector<Claim>& claims, const std::string& start) {
  static const Claim none{.text = "no such claim"};
  for (const Claim& claim : claims) {
    if (claim.text.starts_with(start)) return claim;
  }
  return none;
}

inline Json run_record(const std::string& variant, std::int64_t seed) {
  return {{"version", "0.1.0"},
          {"model",
           {{"vocab_size", 512},
            {"num_layers", 2},
            {"num_heads", 2},
            {"d_model", 32},
            {"d_ff", 32},
            {"rope_theta", 5000.0},
            {"norm_eps", 1e-6},
            {"max_seq_len", 64},
            {"variant", variant},
            {"init", {{"seed", seed}, {"embedding_std", 0.02}}}}},
          {"train", {{"steps", 2}, {"lr", 2e-3}, {"warmup_steps", 1}, {"seed", seed}, {"threads", 1}}},
          {"data", {{"fingerprint", "abc"}}}};
}

// A run directory of two steps. Returns the folder.
inline std::filesystem::path write_run(const std::filesystem::path& study, const std::string& variant,
                                       std::int64_t seed, double val_loss) {
  const std::filesystem::path dir = study / fmt::format("{}_{}", variant, seed);
  std::filesystem::create_directories(dir);
  write_json(dir / "run.json", run_record(variant, seed));
  write_file(dir / "metrics.jsonl",
             fmt::format("{{\"step\":1,\"loss\":{0},\"grad_norm\":1.0}}\n{{\"step\":1,\"val_loss\":9}}\n"
                         "{{\"step\":2,\"loss\":{0},\"grad_norm\":1.0}}\n{{\"step\":2,\"val_loss\":{0},"
                         "\"val_loss_wiki\":{1}}}\n",
                         val_loss, val_loss + 1));
  return dir;
}

}  // namespace crope::test
