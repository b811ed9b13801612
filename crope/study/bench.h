// How fast this program is on this machine: a training step by part, decoding, the tokenizer, each beside what the
// machine can do at best.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/study/machine_speed.h"
#include "crope/study/product_speed.h"
#include "crope/study/step_cost.h"

namespace crope::study {

struct BenchOptions {
  StepShape step;  // the variant in it does not count
  std::vector<std::string> variants = {"rope", "crope_all"};
  int repetitions = 5;
  std::int64_t decoded_tokens = 32;
};

struct DecodeSpeed {
  double prefill_tokens_per_second;
  double decode_tokens_per_second;
  double read_bytes;  // a second, of weights, while decoding
};

struct VariantBench {
  std::string variant;
  StepCost step;                                    // in fp32
  StepCost bf16_step = {};                          // the same step in bf16 by autocast
  DecodeSpeed decode;                               // with the weights in fp32
  std::map<std::string, DecodeSpeed> rounded = {};  // with the speeds of "int8" and "int4"
};

struct TokenizerSpeed {
  double encode_bytes;  // a second
  double train_bytes;   // a second, of text, to a vocabulary of 1,024
};

struct BenchResult {
  int threads;
  std::string instruction_set;
  MachineSpeed machine;
  std::vector<ProductSpeed> products;
  std::vector<VariantBench> variants;
  TokenizerSpeed tokenizer;
  std::uint64_t peak_memory;  // of the process
};

// "fp32" or "bf16": the precision whose gradients take less time, summed over the variants.
std::string recommended_precision(const BenchResult& result);

// Throws UsageError if a variant is unknown or the shape impossible.
BenchResult run_bench(const BenchOptions& options, Log& log);

Json to_json(const StepCost& cost);
Json to_json(const BenchResult& result);

}  // namespace crope::study
