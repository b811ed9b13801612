#include "crope/interop/gguf_order.h"

#include <functional>
#include <numeric>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/formats/gguf.h"
#include "crope/formats/gguf_writer.h"
#include "crope/interop/ggml_blocks.h"
#include "crope/interop/gguf_export.h"
#include "crope/interop/gguf_import.h"
#include "crope/interop/gguf_model.h"
#include "crope/model/init.h"
#include "crope/model/language_model.h"
#include "crope/model/model_dir.h"
#include "crope/model/quantise.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using formats::GgmlType;
using model::Transformer;
using model::Variant;
using ops::WeightType;
using torch::Tensor;

model::ModelConfig block_sized(Variant variant, bool qk_norm = true) {
  model::ModelConfig config{.vocab_size = 70,
                            .num_layers = 2,
                            .num_heads = 2,
                            .d_model = 128,
                            .d_ff = 96,
                            .max_seq_len = 64,
                            .variant = variant};
  config.num_kv_heads = variant == Variant::rope ? 1 : 0;
  config.qk_norm = qk_norm;
  return config;
}

Tensor logits_of(const Transformer& model) {
  return probe_logits(model);
}

class GgufOrder : public testing::Test {
 protected:
  fs::path saved(const Transformer& model, const char* name = "m") {
    fs::remove_all(folder_ / name);
    model::save_model(model, folder_ / name);
    return folder_ / name;
  }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_F(GgufOrder, ThereAndBackIsNothing) {
  for (const bool qk_norm : {true, false}) {
    const model::ModelConfig config = block_sized(Variant::rope, qk_norm);
    for (const HfName& name : hf_layer_names()) {
      const std::vector<std::int64_t> shape = hf_shape(config, name);
      const Tensor x = test::random_tensor(shape, torch::kFloat32);
      EXPECT_TRUE(at::equal(from_gguf_halves(to_gguf_halves(x, name, config), name, config), x)) << name.ours;
      if (shape.size() == 1) continue;
      // Blocks are moved as their numbers are.
      const Tensor blocks = x.view({shape[0], shape[1] / 32, 32});
      ASSERT_TRUE(keeps_blocks(name, config));
      EXPECT_TRUE(at::equal(to_gguf_halves(blocks, name, config).view(x.sizes()), to_gguf_halves(x, name, config)));
    }
  }
}

// A quantised model and its export are the same numbers: nothing is rounded twice.
TEST_F(GgufOrder, BlocksOfAQuantisedModelAreExportedAsTheyAre) {
  for (const Variant variant : {Variant::rope, Variant::crope_qk, Variant::crope_qkv, Variant::crope_all}) {
    for (const auto& [weights, type] :
         {std::pair(WeightType::int8, GgmlType::q8_0), std::pair(WeightType::int4, GgmlType::q4_0)}) {
      const Transformer model = model::make_random_transformer(block_sized(variant), {.embedding_std = 0.5});
      const fs::path dir = saved(model::quantise(model, weights));
      fs::remove(folder_ / "m.gguf");
      const ExportReport report = export_gguf(dir, folder_ / "m.gguf", type, log_);
      EXPECT_LT(report.largest_difference, 1e-4 * std::max(1.0, report.largest_logit)) << model::traits(variant).name;
      const auto file = formats::GgufFile::open(folder_ / "m.gguf");
      EXPECT_EQ(file.at("token_embd.weight").type, GgmlType::q8_0);
      EXPECT_EQ(file.at("blk.0.attn_output.weight").type, type);
    }
  }
}

// Narrow heads tear the blocks of O apart, and half-width heads are filled up: such matrices are rounded anew.
TEST_F(GgufOrder, WhatCannotStayIsRoundedAnew) {
  for (const Variant variant : {Variant::half_rope_qk, Variant::half_rope_all, Variant::crope_all}) {
    model::ModelConfig config = block_sized(variant);
    if (variant == Variant::crope_all) config.head_dim = 32;
    const Transformer model = model::make_random_transformer(config, {.embedding_std = 0.5});
    const fs::path dir = saved(model::quantise(model, WeightType::int8));
    fs::remove(folder_ / "m.gguf");
    const ExportReport report = export_gguf(dir, folder_ / "m.gguf", GgmlType::q8_0, log_);
    EXPECT_LT(report.largest_difference, 0.02 * std::max(1.0, report.largest_logit)) << model::traits(variant).name;
  }
}

TEST_F(GgufOrder, FourBitsOfAnOrdinaryModel) {
  const Transformer model = model::make_random_transformer(block_sized(Variant::crope_all), {.embedding_std = 0.5});
  const fs::path dir = saved(model);
  const ExportReport report = export_gguf(dir, folder_ / "m.gguf", GgmlType::q4_0, log_);
  EXPECT_GT(report.largest_difference, 1e-3);
  const auto file = formats::GgufFile::open(folder_ / "m.gguf");
  EXPECT_EQ(file.value<std::uint32_t>("general.file_type"), 2u);
  EXPECT_EQ(file.at("token_embd.weight").type, GgmlType::q8_0);
  EXPECT_EQ(file.at("blk.1.ffn_down.weight").type, GgmlType::q4_0);
  EXPECT_EQ(file.at("blk.1.ffn_norm.weight").type, GgmlType::f32);
}

// A file's blocks are kept whole, whichever way it rotates; the model computes what the widened import computes.
TEST_F(GgufOrder, ImportsKeepTheBlocks) {
  for (const bool qk_norm : {true, false}) {
    for (const GgmlType type : {GgmlType::q8_0, GgmlType::q4_0}) {
      const Transformer model =
          model::make_random_transformer(block_sized(Variant::rope, qk_norm), {.embedding_std = 0.5});
      for (const char* name : {"m.gguf", "kept", "wide"}) fs::remove_all(folder_ / name);
      export_gguf(saved(model), folder_ / "m.gguf", type, log_);
      import_gguf(folder_ / "m.gguf", folder_ / "wide", torch::kFloat32, log_);
      import_gguf_blocks(folder_ / "m.gguf", folder_ / "kept", log_);
      EXPECT_EQ(model::load_weight_type(folder_ / "kept"),
                type == GgmlType::q8_0 ? WeightType::int8 : WeightType::int4);
      const Tensor wide = logits_of(model::load_model(folder_ / "wide", log_));
      const Tensor kept = logits_of(model::load_model(folder_ / "kept", log_));
      EXPECT_LT((wide - kept).abs().max().item<double>(), 1e-4 * wide.abs().max().item<double>());
      EXPECT_LT(4 * fs::file_size(folder_ / "kept/model.safetensors"),
                (type == GgmlType::q8_0 ? 1.2 : 0.9) * fs::file_size(folder_ / "wide/model.safetensors"));
      // And back again: the same blocks under the same names.
      fs::remove(folder_ / "again.gguf");
      const ExportReport report = export_gguf(folder_ / "kept", folder_ / "again.gguf", type, log_);
      EXPECT_LT(report.largest_difference, 1e-4 * std::max(1.0, report.largest_logit));
      const auto before = formats::GgufFile::open(folder_ / "m.gguf"),
                 after = formats::GgufFile::open(folder_ / "again.gguf");
      for (const auto& tensor : before.tensors()) {
        const auto& other = after.at(tensor.name);
        EXPECT_TRUE(std::ranges::equal(tensor.bytes, other.bytes)) << tensor.name;
      }
    }
  }
}

// Q4_1, as SmolLM2 comes: 4 bits with a minimum, which no export of ours has.
TEST_F(GgufOrder, BlocksWithMinimaStayInFourBits) {
  const Transformer model = model::make_random_transformer(block_sized(Variant::rope), {.embedding_std = 0.5});
  export_gguf(saved(model), folder_ / "plain.gguf", GgmlType::f32, log_);
  const auto plain = formats::GgufFile::open(folder_ / "plain.gguf");
  std::vector<formats::GgufTensorSource> sources;
  for (const formats::GgufTensor& tensor : plain.tensors()) {
    const bool is_matrix = tensor.shape.size() == 2;
    sources.push_back(
        {tensor.name, is_matrix ? GgmlType::q4_1 : tensor.type, tensor.shape,
         [&plain, &tensor, is_matrix](const auto& sink) {
           if (!is_matrix) return sink(tensor.bytes);
           const Tensor x = decode_ggml(tensor, "test").view({-1, 32});
           const Tensor least = x.amin(1, true).to(at::kHalf);
           const Tensor step = ((x.amax(1, true) - least.to(at::kFloat)) / 15).to(at::kHalf);
           const Tensor q = ((x - least.to(at::kFloat)) / step.to(at::kFloat)).round().clamp(0, 15).to(at::kByte);
           const Tensor low = q.narrow(1, 0, 16), high = q.narrow(1, 16, 16);
           const Tensor bytes =
               at::cat({step.view(at::kByte), least.view(at::kByte), low.bitwise_or(high.bitwise_left_shift(4))}, 1);
           sink({static_cast<const std::byte*>(bytes.const_data_ptr()), bytes.nbytes()});
         }});
  }
  formats::write_gguf(folder_ / "m.gguf", plain.metadata(), sources);
  import_gguf(folder_ / "m.gguf", folder_ / "wide", torch::kFloat32, log_);
  import_gguf_blocks(folder_ / "m.gguf", folder_ / "kept", log_);
  EXPECT_EQ(model::load_weight_type(folder_ / "kept"), WeightType::int4);
  const Transformer kept = model::load_quantised_model(folder_ / "kept", log_);
  for (const model::Parameter& parameter : kept.parameters) {
    if (parameter.quantised) {
      EXPECT_EQ(parameter.quantised->type, WeightType::int4_min) << parameter.spec.name;
    }
  }
  const Tensor wide = logits_of(model::load_model(folder_ / "wide", log_));
  EXPECT_LT((logits_of(model::load_model(folder_ / "kept", log_)) - wide).abs().max().item<double>(),
            1e-4 * wide.abs().max().item<double>());
}

TEST_F(GgufOrder, OtherTypesAndTornBlocksAreRoundedTo8Bits) {
  model::ModelConfig config = block_sized(Variant::rope);
  config.head_dim = 32;
  const Transformer model = model::make_random_transformer(config, {.embedding_std = 0.5});
  export_gguf(saved(model), folder_ / "m.gguf", GgmlType::q4_0, log_);
  const GgufModel file(folder_ / "m.gguf");
  std::vector<std::string> rounded;
  for (const model::ParameterSpec& spec : model::parameter_specs(file.config())) file.read_stored(spec, rounded);
  EXPECT_EQ(rounded, (std::vector<std::string>{"blk.0.attn_output.weight", "blk.1.attn_output.weight"}));
  export_gguf(folder_ / "m", folder_ / "plain.gguf", GgmlType::bf16, log_);
  import_gguf_blocks(folder_ / "plain.gguf", folder_ / "kept", log_);
  EXPECT_EQ(model::load_weight_type(folder_ / "kept"), WeightType::int8);
}

}  // namespace
}  // namespace crope::interop
