#include "crope/interop/gguf_export.h"

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/gguf_model.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using formats::GgmlType;
using formats::GgufFile;

fs::path golden_of(std::string_view variant) {
  return fs::path(CROPE_SOURCE_DIR) / "tests/data/goldens" / variant;
}

class GgufExport : public testing::TestWithParam<model::VariantTraits> {
 protected:
  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_P(GgufExport, ComputesTheSame) {
  const ExportReport report = export_gguf(golden_of(GetParam().name), folder_ / "m.gguf", GgmlType::f32, log_);
  EXPECT_EQ(report.path, folder_ / "m.gguf");
  EXPECT_LT(report.largest_difference, 1e-5 * report.largest_logit);
  const GgufFile file = GgufFile::open(folder_ / "m.gguf");
  EXPECT_EQ(file.value<std::string>("general.architecture"), "qwen3");
  EXPECT_EQ(file.value<std::string>("crope.variant"), GetParam().name);
  const auto config = model::load_config(golden_of(GetParam().name));
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
    const ExportReport report = export_gguf(golden_of(GetParam().name), path, type, log_);
    EXPECT_GT(report.largest_difference, 0) << "rounding must show";
    const GgufFile file = GgufFile::open(path);
    for (const formats::GgufTensor& tensor : file.tensors()) {
      const bool fits = tensor.shape.back() % formats::ggml_block(type).elements == 0;
      const GgmlType expected = tensor.shape.size() == 1 ? GgmlType::f32 : fits ? type : GgmlType::f16;
      EXPECT_EQ(tensor.type, expected) << tensor.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllVariants, GgufExport, testing::ValuesIn(model::kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

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
