#include "crope/study/bench.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "crope/base/interrupt.h"
#include "crope/base/memory.h"
#include "crope/base/stopwatch.h"
#include "crope/infer/decoder.h"
#include "crope/model/cost.h"
#include "crope/model/init.h"
#include "crope/model/language_model.h"
#include "crope/ops/device.h"
#include "crope/text/bpe_trainer.h"
#include "crope/text/tokenizer.h"
#include "crope/world/document.h"

namespace crope::study {
namespace {

model::Transformer random_model(const model::ModelConfig& config, ops::WeightType type) {
  model::Transformer model = model::make_random_transformer(config);
  return ops::is_quantised(type) ? model::quantise(model, type) : model;
}

DecodeSpeed measure_decoding(const model::ModelConfig& config, std::int64_t tokens, ops::WeightType type) {
  infer::Decoder decoder(random_model(config, type));
  const std::int64_t most = config.max_seq_len - 1;
  std::vector<std::int32_t> prompt(static_cast<std::size_t>(std::clamp<std::int64_t>(most - tokens, 1, 512)));
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    prompt[i] = static_cast<std::int32_t>(i * 37 % static_cast<std::size_t>(config.vocab_size));
  }
  const std::int64_t count =
      std::max<std::int64_t>(1, std::min(tokens, most - static_cast<std::int64_t>(prompt.size())));
  DecodeSpeed speed{};
  for (int pass = 0; pass < 2; ++pass) {  // the first one fetches memory from the system
    throw_if_interrupted();
    infer::KvCache cache = decoder.make_cache();
    const auto append = [&](std::span<const std::int32_t> ids) {
      const infer::Chunk chunk{&cache, ids};
      return decoder.append(std::span(&chunk, 1));
    };
    const double prefill = seconds_of([&] { append(prompt); });
    std::vector<std::int32_t> next = {prompt.back()};
    const double decode = seconds_of([&] {
      for (std::int64_t i = 0; i < count; ++i) {
        append(next);
        constexpr std::int64_t kFirst = 0;
        next[0] = decoder.logits(std::span(&kFirst, 1)).argmax().item<std::int32_t>();
      }
    });
    speed.prefill_tokens_per_second = static_cast<double>(prompt.size()) / prefill;
    speed.decode_tokens_per_second = static_cast<double>(count) / decode;
  }
  speed.read_bytes = speed.decode_tokens_per_second * model::weight_bytes(config, type);
  return speed;
}

// On documents of the embedded world.
TokenizerSpeed measure_tokenizer(int threads) {
  constexpr std::uint64_t kDocuments = 4000;
  std::vector<std::string> texts;
  double bytes = 0;
  for (std::uint64_t i = 0; i < kDocuments; ++i) {
    texts.push_back(world::make_document(/*seed=*/1, i));
    bytes += static_cast<double>(texts.back().size());
  }
  text::Vocabulary vocabulary;
  const double training = seconds_of([&] {
    std::size_t next = 0;
    const auto take = [&](std::string& document) {
      if (next == texts.size()) return false;
      document = texts[next++];
      return true;
    };
    const text::BpeTrainerOptions options{.vocab_size = 1024};
    vocabulary = text::train_bpe(text::count_words(take, options.special_tokens, threads), options);
  });
  const text::Tokenizer tokenizer(std::move(vocabulary));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const double encoding = seconds_of([&] { tokenizer.encode_batch(views, threads); });
  return {.encode_bytes = bytes / encoding, .train_bytes = bytes / training};
}

}  // namespace

BenchResult run_bench(const BenchOptions& options, Log& log) {
  std::vector<StepShape> shapes;
  for (const std::string& name : options.variants) {
    shapes.push_back(options.step);
    shapes.back().config.variant = model::variant_by_name(name);
    check_step(shapes.back(), options.repetitions);
  }
  BenchResult result{};
  result.threads = at::get_num_threads();
  result.instruction_set = ops::cpu_instruction_set().value_or("none (CROPE_FUSED=0)");
  result.machine = measure_machine();
  log.info("matrix products");
  result.products = measure_products(options.repetitions);
  for (const StepShape& shape : shapes) {
    const std::string name(model::traits(shape.config.variant).name);
    log.info(fmt::format("{}: a training step", name));
    VariantBench& variant = result.variants.emplace_back();
    variant.variant = name;
    variant.step = measure_step(shape, options.repetitions);
    log.info(fmt::format("{}: a training step in bf16", name));
    StepShape in_bf16 = shape;
    in_bf16.precision = at::kBFloat16;
    variant.bf16_step = measure_step(in_bf16, /*repetitions=*/1);  // where bf16 is slow it is very slow
    log.info(fmt::format("{}: decoding", name));
    variant.decode = measure_decoding(shape.config, options.decoded_tokens, ops::WeightType::fp32);
    for (const ops::WeightType type : {ops::WeightType::int8, ops::WeightType::int4}) {
      variant.rounded[std::string(Choice(type).name())] = measure_decoding(shape.config, options.decoded_tokens, type);
    }
  }
  log.info("the tokenizer");
  result.tokenizer = measure_tokenizer(result.threads);
  result.peak_memory = peak_memory();
  return result;
}

std::string recommended_precision(const BenchResult& result) {
  double fp32 = 0, bf16 = 0;
  for (const VariantBench& each : result.variants) {
    fp32 += each.step.gradient_s();
    bf16 += each.bf16_step.gradient_s();
  }
  return bf16 < fp32 ? "bf16" : "fp32";
}

Json to_json(const StepCost& cost) {
  Json parts = Json::array();
  for (const ops::ProfileRow& row : cost.parts) {
    parts.push_back({{"name", row.name}, {"calls", row.calls}, {"seconds", row.seconds}, {"flops", row.flops}});
  }
  return {{"forward_s", cost.forward_s}, {"backward_s", cost.backward_s},      {"optimizer_s", cost.optimizer_s},
          {"flops", cost.flops},         {"peak_bytes", cost.peak_bytes},      {"mean_s", cost.mean_s},
          {"parts", std::move(parts)},   {"lasting_bytes", cost.lasting_bytes}};
}

Json to_json(const BenchResult& result) {
  Json products = Json::array(), variants = Json::array();
  for (const ProductSpeed& speed : result.products) {
    products.push_back({{"name", speed.name}, {"own_flops", speed.own_flops}, {"blas_flops", speed.blas_flops}});
  }
  for (const VariantBench& each : result.variants) {
    Json rounded = Json::object();
    for (const auto& [type, speed] : each.rounded) {
      rounded[type] = {{"prefill_tokens_per_second", speed.prefill_tokens_per_second},
                       {"decode_tokens_per_second", speed.decode_tokens_per_second},
                       {"decode_bandwidth_share", speed.read_bytes / result.machine.read_bytes}};
    }
    variants.push_back({{"variant", each.variant},
                        {"step", to_json(each.step)},
                        {"bf16_step", to_json(each.bf16_step)},
                        {"gemm_share", each.step.flops / each.step.gradient_s() / result.machine.gemm_flops},
                        {"prefill_tokens_per_second", each.decode.prefill_tokens_per_second},
                        {"decode_tokens_per_second", each.decode.decode_tokens_per_second},
                        {"decode_bandwidth_share", each.decode.read_bytes / result.machine.read_bytes},
                        {"rounded_weights", std::move(rounded)}});
  }
  return {{"threads", result.threads},
          {"instruction_set", result.instruction_set},
          {"recommended_precision", recommended_precision(result)},
          {"gemm_flops", result.machine.gemm_flops},
          {"memory_read_bytes", result.machine.read_bytes},
          {"memory_write_bytes", result.machine.write_bytes},
          {"products", std::move(products)},
          {"variants", std::move(variants)},
          {"tokenizer_encode_bytes", result.tokenizer.encode_bytes},
          {"tokenizer_train_bytes", result.tokenizer.train_bytes},
          {"peak_memory", result.peak_memory}};
}

}  // namespace crope::study
