#include "crope/infer/decoder.h"

#include <numeric>

#include "crope/base/error.h"
#include "crope/base/log.h"
#include "crope/model/model_dir.h"
#include "crope/model/quantise.h"
#include "crope/model/tensor_file.h"
#include "crope/ops/cpu/isa.h"
#include "crope/ops/cpu/quantised_product.h"
#include "tests/golden_models.h"
#include "tests/infer/small_model.h"
#include "tests/tensor_checks.h"

namespace crope::infer {
namespace {

using test::draw_ids;
using test::small_model;
using test::uncached_logits;
using torch::Tensor;
using Ids = std::vector<std::int32_t>;

constexpr double kTolerance = 1e-4;  // of each logit

void expect_equal_logits(const Tensor& got, const Tensor& expected, const std::string& what = {}) {
  ASSERT_EQ(got.sizes(), expected.sizes()) << what;
  EXPECT_LE((got - expected).abs().max().item<double>(), kTolerance) << what;
}

std::vector<std::int64_t> all_rows(std::size_t count) {
  std::vector<std::int64_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Logits [T, V] of one sequence that is read `piece` tokens at a time.
Tensor cached_logits(Decoder& decoder, const Ids& ids, std::size_t piece) {
  KvCache cache = decoder.make_cache();
  std::vector<Tensor> logits;
  for (std::size_t begin = 0; begin < ids.size(); begin += piece) {
    const std::size_t count = std::min(piece, ids.size() - begin);
    const std::vector<Chunk> chunks = {{&cache, std::span(ids).subspan(begin, count)}};
    decoder.append(chunks);
    logits.push_back(decoder.logits(all_rows(count)).clone());
  }
  return at::cat(logits);
}

class DecoderOfVariant : public testing::TestWithParam<model::VariantTraits> {};

TEST_P(DecoderOfVariant, CachedLogitsAreTheUncachedOnes) {
  const model::Transformer model = small_model(GetParam().variant, /*max_seq_len=*/70);
  const Ids ids = draw_ids(1, 70);
  const Tensor expected = uncached_logits(model, ids);
  Decoder decoder(model);
  for (const std::size_t piece : {1, 2, 7, 24, 25, 33, 70}) {
    expect_equal_logits(cached_logits(decoder, ids, piece), expected, "pieces of " + std::to_string(piece));
  }
}

// An annealed model is expanded when it is loaded.
TEST(Decoder, CachedLogitsOfAnAnnealedModel) {
  model::ModelConfig config{.vocab_size = test::kSmallVocabulary,
                            .num_layers = 2,
                            .num_heads = 4,
                            .d_model = 24,
                            .d_ff = 37,
                            .max_seq_len = 40,
                            .variant = model::Variant::crope_all,
                            .num_kv_heads = 2};
  config.conjugate_scale = 0.6;
  const model::Transformer model = model::make_random_transformer(config, {.seed = 5, .embedding_std = 0.5});
  const Ids ids = draw_ids(1, 40);
  Decoder decoder(model);
  for (const std::size_t piece : {1, 7, 40}) {
    expect_equal_logits(cached_logits(decoder, ids, piece), uncached_logits(model, ids));
  }
}

// Every golden model: all variants, gains per pair and absent, wide heads.
class DecoderOfGolden : public testing::TestWithParam<std::string> {};

TEST_P(DecoderOfGolden, GoldenLogits) {
  Log log(nullptr);
  const auto dir = test::golden_folder(GetParam());
  const auto golden = formats::SafetensorsFile::open(dir / "golden.safetensors");
  const Tensor tokens = model::view_tensor(golden, "tokens"), expected = model::view_tensor(golden, "logits");
  const model::Transformer model = model::load_model(dir, log);
  Decoder decoder(model);
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    const auto* data = tokens.const_data_ptr<std::int64_t>() + row * tokens.size(1);
    const Ids ids(data, data + expected.size(1));
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, ids.size()}) {
      const Tensor cached = cached_logits(decoder, ids, piece);
      expect_equal_logits(cached, expected[row], "pieces of " + std::to_string(piece));
      expect_equal_logits(cached, uncached_logits(model, ids), "pieces of " + std::to_string(piece));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllModels, DecoderOfGolden, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return test::golden_test_name(info.param); });

TEST_P(DecoderOfVariant, EveryInstructionSetGivesTheSame) {
  const model::Transformer model = small_model(GetParam().variant);
  const Ids ids = draw_ids(2, 24);
  const Tensor expected = uncached_logits(model, ids);
  Decoder decoder(model);
  const std::string before = ops::cpu::instruction_set();
  for (const std::string& set : ops::cpu::available_instruction_sets()) {
    ops::cpu::use_instruction_set(set);
    expect_equal_logits(cached_logits(decoder, ids, 5), expected, set);
  }
  ops::cpu::use_instruction_set(before);
}

// bf16 weights are multiplied exactly as the same numbers in fp32.
TEST_P(DecoderOfVariant, Bf16WeightsGiveTheLogitsOfTheirValues) {
  const model::Transformer model = small_model(GetParam().variant, /*max_seq_len=*/40);
  const Ids ids = draw_ids(3, 40);
  const Tensor expected = uncached_logits(test::rounded_model(model, at::kFloat), ids);
  Decoder decoder(test::rounded_model(model, at::kBFloat16));
  for (const std::size_t piece : {1, 6, 40}) expect_equal_logits(cached_logits(decoder, ids, piece), expected);
}

// The rounding of weights and activations shows in the logits, and not by much.
TEST_P(DecoderOfVariant, RoundedWeightsAreNearTheirModel) {
  const model::Transformer model = small_model(GetParam().variant, /*max_seq_len=*/40);
  const Ids ids = draw_ids(3, 40);
  const Tensor expected = uncached_logits(model, ids);
  for (const auto& [type, most] : {std::pair(ops::WeightType::int8, 0.02), std::pair(ops::WeightType::int4, 0.25)}) {
    Decoder decoder(model::quantise(model, type));
    const auto error = [&](std::size_t piece) {
      return test::relative_error(cached_logits(decoder, ids, piece), expected);
    };
    // Without instructions for bytes the activations of prompts are not rounded.
    ops::cpu::use_byte_products(false);
    const double weights_alone = error(40);
    ops::cpu::use_byte_products(true);
    EXPECT_GT(weights_alone, 1e-4);
    EXPECT_LT(weights_alone, most);
    // Activations are rounded in steps as fine as those of int8: an error of that size on top, and not several.
    EXPECT_LT(error(1), 3 * weights_alone);
    EXPECT_LT(error(40), 3 * weights_alone);
  }
}

// Bit for bit, as with weights that are not rounded.
TEST_P(DecoderOfVariant, RoundedWeightsGiveASequenceTheSameInCompany) {
  const model::Transformer model = small_model(GetParam().variant);
  for (const auto type : {ops::WeightType::int8, ops::WeightType::int4}) {
    Decoder decoder(model::quantise(model, type));
    std::vector<Ids> sequences;
    std::vector<Tensor> alone;
    for (std::uint64_t i = 0; i < 5; ++i) {
      sequences.push_back(draw_ids(20 + i, 9));
      alone.push_back(cached_logits(decoder, sequences.back(), 1));
    }
    std::vector<KvCache> caches;
    for (std::size_t i = 0; i < sequences.size(); ++i) caches.push_back(decoder.make_cache());
    for (std::int64_t t = 0; t < 9; ++t) {
      std::vector<Chunk> steps;
      for (std::size_t i = 0; i < sequences.size(); ++i) {
        steps.push_back({&caches[i], std::span(sequences[i]).subspan(static_cast<std::size_t>(t), 1)});
      }
      decoder.append(steps);
      const Tensor logits = decoder.logits(all_rows(sequences.size()));
      for (std::size_t i = 0; i < sequences.size(); ++i) {
        EXPECT_TRUE(at::equal(logits[static_cast<std::int64_t>(i)], alone[i][t]));
      }
    }
  }
}

TEST_P(DecoderOfVariant, SequencesOfUnequalLengthTogether) {
  const model::Transformer model = small_model(GetParam().variant);
  Decoder decoder(model);
  std::vector<Ids> sequences;
  std::vector<KvCache> caches;
  for (std::uint64_t i = 0; i < 6; ++i) {
    sequences.push_back(draw_ids(10 + i, 3 + 4 * i));
    caches.push_back(decoder.make_cache());
  }
  // All but the last token of each, and then the last of all in one step.
  std::vector<Chunk> prompts, steps;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::span<const std::int32_t> ids = sequences[i];
    prompts.push_back({&caches[i], ids.first(ids.size() - 1)});
    steps.push_back({&caches[i], ids.last(1)});
  }
  decoder.append(prompts);
  decoder.append(steps);
  const Tensor batched = decoder.logits(all_rows(sequences.size())).clone();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    EXPECT_EQ(caches[i].length(), static_cast<std::int64_t>(sequences[i].size()));
    expect_equal_logits(batched[static_cast<std::int64_t>(i)], uncached_logits(model, sequences[i])[-1]);
  }
}

// A sequence remembers the tokens whose output it skips.
TEST_P(DecoderOfVariant, SkippedOutputsGoIntoTheCacheAlone) {
  const model::Transformer model = small_model(GetParam().variant, /*max_seq_len=*/40);
  Decoder decoder(model);
  std::vector<Ids> sequences;
  std::vector<KvCache> caches;
  std::vector<Chunk> chunks, steps;
  const std::int64_t skipped[] = {29, 0, 30, 13};  // all but one, none, all, some
  std::vector<std::pair<std::size_t, std::int64_t>> wanted;
  for (std::size_t i = 0; i < std::size(skipped); ++i) {
    sequences.push_back(draw_ids(30 + i, 31));
    caches.push_back(decoder.make_cache());
  }
  for (std::size_t i = 0; i < std::size(skipped); ++i) {
    const std::span<const std::int32_t> ids = sequences[i];
    chunks.push_back({&caches[i], ids.first(30), skipped[i]});
    steps.push_back({&caches[i], ids.last(1)});
    for (std::int64_t t = skipped[i]; t < 30; ++t) wanted.emplace_back(i, t);
  }
  std::vector<Tensor> expected;
  for (const Ids& ids : sequences) expected.push_back(uncached_logits(model, ids));
  EXPECT_EQ(decoder.append(chunks).size(0), static_cast<std::int64_t>(wanted.size()));
  const Tensor logits = decoder.logits(all_rows(wanted.size())).clone();
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    expect_equal_logits(logits[static_cast<std::int64_t>(r)], expected[wanted[r].first][wanted[r].second]);
  }
  decoder.append(steps);
  const Tensor next = decoder.logits(all_rows(caches.size()));
  for (std::size_t i = 0; i < caches.size(); ++i) {
    expect_equal_logits(next[static_cast<std::int64_t>(i)], expected[i][-1]);
  }
}

TEST(Decoder, NothingWantedIsAnEmptyOutput) {
  Decoder decoder(small_model(model::Variant::crope_qk, /*max_seq_len=*/40));
  KvCache cache = decoder.make_cache();
  const Ids ids = draw_ids(3, 40);
  const std::vector<Chunk> chunks = {{&cache, ids, 40}};
  EXPECT_EQ(decoder.append(chunks).size(0), 0);
  EXPECT_EQ(cache.length(), 40);
}

INSTANTIATE_TEST_SUITE_P(AllVariants, DecoderOfVariant, testing::ValuesIn(model::kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

// A step of many sequences is bit for bit what each would get alone.
TEST(Decoder, AStepDoesNotDependOnItsCompany) {
  const model::Transformer model = small_model(model::Variant::crope_all);
  Decoder decoder(model);
  const Ids ids = draw_ids(4, 20);
  const Tensor single = cached_logits(decoder, ids, 1);
  std::vector<KvCache> caches;
  for (int i = 0; i < 9; ++i) caches.push_back(decoder.make_cache());
  for (std::size_t t = 0; t < ids.size(); ++t) {
    std::vector<Chunk> chunks;
    for (KvCache& cache : caches) chunks.push_back({&cache, std::span(ids).subspan(t, 1)});
    decoder.append(chunks);
    const Tensor logits = decoder.logits(all_rows(caches.size()));
    for (std::int64_t r = 0; r < logits.size(0); ++r)
      EXPECT_TRUE(logits[r].equal(single[static_cast<std::int64_t>(t)]));
  }
}

// Several tokens of one sequence in a step, too, as speculation reads them; and taken back, they leave nothing behind.
TEST(Decoder, AFewTokensAtOnceAreBitForBitThoseOneByOne) {
  for (const auto& variant : model::kVariants) {
    const model::Transformer model = small_model(variant.variant, /*max_seq_len=*/80);
    const Ids ids = draw_ids(4, 80), wrong = draw_ids(5, 80);
    for (const auto type : {ops::WeightType::fp32, ops::WeightType::int8}) {
      Decoder decoder(ops::is_quantised(type) ? model::quantise(model, type) : model);
      const Tensor single = cached_logits(decoder, ids, 1);
      for (const std::size_t piece : {2, 9, 24}) EXPECT_TRUE(at::equal(cached_logits(decoder, ids, piece), single));
      KvCache cache = decoder.make_cache();
      for (std::size_t t = 0; t < 60; ++t) {
        Ids step = {ids[t]};
        step.insert(step.end(), wrong.begin() + static_cast<std::ptrdiff_t>(t % 7), wrong.begin() + 11);
        const std::vector<Chunk> chunks = {{&cache, step}};
        decoder.append(chunks);
        EXPECT_TRUE(at::equal(decoder.logits(all_rows(1))[0], single[static_cast<std::int64_t>(t)]));
        cache.take_back(static_cast<std::int64_t>(t) + 1);
        EXPECT_EQ(cache.length(), static_cast<std::int64_t>(t) + 1);
      }
    }
  }
}

TEST(Decoder, AForkContinuesFromWhatItShares) {
  const model::Transformer model = small_model(model::Variant::half_rope_qk);
  Decoder decoder(model);
  const Ids common = draw_ids(5, 12), first = draw_ids(6, 7), second = draw_ids(7, 9);
  KvCache cache = decoder.make_cache();
  const std::vector<Chunk> start = {{&cache, common}};
  decoder.append(start);
  KvCache fork = cache.fork(10), fork_of_fork = fork.fork(4);
  const std::vector<Chunk> chunks = {{&cache, first}, {&fork, second}, {&fork_of_fork, first}};
  decoder.append(chunks);
  const auto last = [](const Ids& prefix, std::size_t length, const Ids& rest) {
    Ids ids(prefix.begin(), prefix.begin() + static_cast<std::ptrdiff_t>(length));
    ids.insert(ids.end(), rest.begin(), rest.end());
    return ids;
  };
  const std::vector<std::int64_t> ends = {6, 15, 22};
  const Tensor logits = decoder.logits(ends);
  expect_equal_logits(logits[0], uncached_logits(model, last(common, 12, first))[-1]);
  expect_equal_logits(logits[1], uncached_logits(model, last(common, 10, second))[-1]);
  expect_equal_logits(logits[2], uncached_logits(model, last(common, 4, first))[-1]);
}

TEST(Decoder, WhatDoesNotFitIsRefused) {
  Decoder decoder(small_model(model::Variant::rope, /*max_seq_len=*/8));
  KvCache cache = decoder.make_cache();
  const auto append = [&](const Ids& ids) {
    const std::vector<Chunk> chunks = {{&cache, ids}};
    decoder.append(chunks);
  };
  EXPECT_THROW(append({}), Error);
  EXPECT_THROW(append(Ids(9, 1)), Error);
  EXPECT_THROW(append({61}), Error);
  EXPECT_THROW(append({-1}), Error);
  append(Ids(8, 1));
  EXPECT_THROW(append({1}), Error);
  EXPECT_EQ(cache.length(), 8);
  EXPECT_THROW(Decoder(test::rounded_model(small_model(model::Variant::rope), at::kDouble)), Error);
}

}  // namespace
}  // namespace crope::infer
