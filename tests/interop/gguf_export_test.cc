#include "crope/interop/gguf_export.h"

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/gguf_model.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/weight.h"
#include "tests/golden_models.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using formats::GgmlType;
using formats::GgufFile;

fs::path golden_of(const std::string& model) {
  return test::golden_folder(model);
}

class GgufExport : public testing::TestWithParam<std::string> {
 protected:
  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_P(GgufExport, ComputesTheSame) {
  const ExportReport report = export_gguf(golden_of(GetParam()), folder_ / "m.gguf", GgmlType::f32, log_);
  EXPECT_EQ(report.path, folder_ / "m.gguf");
  EXPECT_LT(report.largest_difference, 1e-5 * report.largest_logit);
  const GgufFile file = GgufFile::open(folder_ / "m.gguf");
  EXPECT_EQ(file.value<std::string>("general.architecture"), "qwen3");
  const auto config = model::load_config(golden_of(GetParam()));
  EXPECT_EQ(file.value<std::string>("crope.variant"), model::traits(config.variant).name);
  EXPECT_EQ(file.value<std::uint32_t>("qwen3.attention.key_length"), config.v_width());
  EXPECT_EQ(file.at("blk.0.attn_q.weight").shape,
            (std::vector<std::int64_t>{config.num_heads * config.v_width(), config.d_model}));
  EXPECT_EQ(file.find("output.weight"), nullptr);
  // Nothing but the file is left in its folder.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_P(GgufExport, StoredTypes) {
  for (const GgmlType type : {GgmlType::f16, GgmlType::bf16, GgmlType::q8_0}) {
    const fs::path path = folder_ / (std::string(formats::ggml_type_name(type)) + ".gguf");
    const ExportReport report = export_gguf(golden_of(GetParam()), path, type, log_);
    EXPECT_GT(report.largest_difference, 0) << "rounding must show";
    const GgufFile file = GgufFile::open(path);
    for (const formats::GgufTensor& tensor : file.tensors()) {
      const bool fits = tensor.shape.back() % formats::ggml_block(type).elements == 0;
      const GgmlType expected = tensor.shape.size() == 1 ? GgmlType::f32 : fits ? type : GgmlType::f16;
      EXPECT_EQ(tensor.type, expected) << tensor.name;
    }
  }
}

// The file is the dense model with whole gains, bit for bit: pairs expanded, gains of a pair repeated, ones for none.
TEST_P(GgufExport, HoldsEveryWeightBitForBit) {
  const model::Transformer original = model::load_model(golden_of(GetParam()), log_);
  if (original.config.qk_width() != original.config.v_width()) return;  // filled up: checked by its logits
  export_gguf(golden_of(GetParam()), folder_ / "m.gguf", GgmlType::f32, log_);
  const model::Transformer back = load_gguf_model(folder_ / "m.gguf");
  const model::ModelConfig& config = original.config;
  EXPECT_EQ(back.config.variant, model::Variant::rope);
  EXPECT_EQ(back.config.full_head_width(), config.v_width());
  EXPECT_EQ(back.config.qk_gain, model::Gain::free);
  EXPECT_EQ(back.config.norm_gain, model::Gain::free);
  ASSERT_EQ(back.blocks.size(), original.blocks.size());
  const auto same = [&](const torch::Tensor& theirs, const torch::Tensor& ours, std::int64_t width) {
    EXPECT_TRUE(at::equal(theirs, model::expand_gain(ours, width)));
  };
  for (std::size_t i = 0; i < back.blocks.size(); ++i) {
    const model::Block &theirs = back.blocks[i], &ours = original.blocks[i];
    same(theirs.attention_norm, ours.attention_norm, config.d_model);
    same(theirs.feed_forward_norm, ours.feed_forward_norm, config.d_model);
    same(theirs.attention.q_norm, ours.attention.q_norm, config.qk_width());
    same(theirs.attention.k_norm, ours.attention.k_norm, config.qk_width());
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_TRUE(at::equal(ops::dense_matrix(theirs.attention.qkv[j]), ops::dense_matrix(ours.attention.qkv[j])));
    }
    EXPECT_TRUE(at::equal(ops::dense_matrix(theirs.attention.o), ops::dense_matrix(ours.attention.o)));
  }
  same(back.norm, original.norm, config.d_model);
  EXPECT_TRUE(at::equal(back.embedding, original.embedding));
}

INSTANTIATE_TEST_SUITE_P(AllModels, GgufExport, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return test::golden_test_name(info.param); });

// Without QK-norm it is llama.cpp's llama, which rotates pairs as our disk has them.
TEST(GgufExportKinds, WithoutQkNormAndWithAnOutputOfItsOwn) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  model::ModelConfig config{.vocab_size = 40, .num_layers = 2, .num_heads = 2, .d_model = 32, .d_ff = 48};
  config.qk_norm = false;
  config.tie_embeddings = false;
  config.head_dim = 8;
  model::save_model(model::make_random_transformer(config), folder / "m");
  const ExportReport report = export_gguf(folder / "m", folder / "m.gguf", GgmlType::f32, log);
  EXPECT_LT(report.largest_difference, 1e-5 * std::max(1.0, report.largest_logit));
  const GgufFile file = GgufFile::open(folder / "m.gguf");
  EXPECT_EQ(file.value<std::string>("general.architecture"), "llama");
  EXPECT_EQ(file.value<std::uint32_t>("llama.rope.dimension_count"), 8u);
  EXPECT_NE(file.find("output.weight"), nullptr);
  EXPECT_EQ(file.find("blk.0.attn_q_norm.weight"), nullptr);

  config.variant = model::Variant::half_rope_qk;
  model::save_model(model::make_random_transformer(config), folder / "half");
  EXPECT_THROW(export_gguf(folder / "half", folder / "half.gguf", GgmlType::f32, log), Error);
  EXPECT_FALSE(fs::exists(folder / "half.gguf"));
}

TEST(GgufExportRefusals, WhatIsThereAndWhatIsNotFinite) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  write_file(folder / "exists.gguf", "mine");
  EXPECT_THROW(export_gguf(golden_of("rope"), folder / "exists.gguf", GgmlType::f32, log), Error);
  EXPECT_EQ(read_file(folder / "exists.gguf"), "mine");
  EXPECT_THROW(export_gguf(golden_of("rope"), folder.path(), GgmlType::f32, log), Error);
  EXPECT_THROW(export_gguf(folder / "absent", folder / "x.gguf", GgmlType::f32, log), Error);

  model::Transformer model = model::load_model(golden_of("rope"), log);
  model.norm[0] = NAN;
  model::save_model(model, folder / "bad");
  EXPECT_THROW(export_gguf(folder / "bad", folder / "x.gguf", GgmlType::f32, log), Error);
  EXPECT_FALSE(fs::exists(folder / "x.gguf"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

}  // namespace
}  // namespace crope::interop
