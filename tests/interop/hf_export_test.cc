#include "crope/interop/hf_export.h"

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/interop/hf_import.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"
#include "tests/golden_models.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

class HfExport : public testing::TestWithParam<std::string> {
 protected:
  fs::path golden() const { return test::golden_folder(GetParam()); }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_P(HfExport, ComesBackAsItself) {
  const ExportReport report = export_hf(golden(), folder_ / "hf", torch::kFloat32, log_);
  EXPECT_LT(report.largest_difference, 1e-5);
  const model::Transformer original = model::load_model(golden(), log_), back = load_hf_model(folder_ / "hf", log_);
  EXPECT_EQ(config_to_json(back.config), config_to_json(original.config));
  ASSERT_EQ(back.parameters.size(), original.parameters.size());
  for (std::size_t i = 0; i < original.parameters.size(); ++i) {
    const model::Parameter &a = original.parameters[i], &b = back.parameters[i];
    const bool scaled =
        original.config.variant == model::Variant::half_rope_qk && a.spec.name.ends_with("k_norm.weight");
    if (scaled) {
      const Tensor ulps = (a.value.view(torch::kInt32) - b.value.view(torch::kInt32)).abs();
      EXPECT_LE(ulps.max().item<int>(), 1) << a.spec.name;
    } else {
      EXPECT_TRUE(at::equal(a.value, b.value)) << a.spec.name;
    }
  }
}

TEST_P(HfExport, StoredTypes) {
  export_hf(golden(), folder_ / "bf16", torch::kBFloat16, log_);
  const auto file = formats::SafetensorsFile::open(folder_ / "bf16/model.safetensors");
  for (const auto& tensor : file.tensors()) EXPECT_EQ(tensor.type, formats::ElementType::bf16) << tensor.name;
  EXPECT_EQ(read_json(folder_ / "bf16/config.json")["torch_dtype"], "bfloat16");
  EXPECT_EQ(config_to_json(load_hf_model(folder_ / "bf16", log_).config), config_to_json(model::load_config(golden())));
}

INSTANTIATE_TEST_SUITE_P(AllModels, HfExport, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return test::golden_test_name(info.param); });

// The narrow heads of half_rope_qk are filled up and its keys' gains multiplied by sqrt(2): what has one gain per pair,
// or none, is still recognised, in every type of an export.
TEST(HfExportGains, NarrowHeadsComeBackWithTheirKindOfGains) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  model::ModelConfig config{.vocab_size = 40, .num_layers = 2, .num_heads = 2, .d_model = 32, .d_ff = 48};
  config.variant = model::Variant::half_rope_qk;
  for (const char* qk_gain : {"pair", "none"}) {
    config.qk_gain = Choice<model::Gain>::by_name(qk_gain, "qk_gain");
    model::Transformer model = model::make_random_transformer(config);
    for (model::Parameter& parameter : model.parameters) {
      if (parameter.spec.role == model::Role::gain) parameter.value.uniform_(0.8, 1.2);
    }
    model::save_model(model, folder / qk_gain);
    for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
      const fs::path out = folder / (std::string(qk_gain) + "_" + c10::toString(type));
      export_hf(folder / qk_gain, out, type, log);
      EXPECT_EQ(config_to_json(load_hf_model(out, log).config), config_to_json(config)) << out;
    }
  }
}

TEST(HfExportRefusals, AnExistingFolderAndWeightsThatAreNotFinite) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  const fs::path golden = fs::path(CROPE_SOURCE_DIR) / "tests/data/goldens/rope";
  fs::create_directory(folder / "exists");
  EXPECT_THROW(export_hf(golden, folder / "exists", torch::kFloat32, log), Error);

  model::Transformer model = model::load_model(golden, log);
  model.norm[0] = NAN;
  model::save_model(model, folder / "bad");
  EXPECT_THROW(export_hf(folder / "bad", folder / "out", torch::kFloat32, log), Error);
  EXPECT_FALSE(fs::exists(folder / "out"));
  EXPECT_THROW(export_hf(folder / "absent", folder / "out", torch::kFloat32, log), Error);
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(HfExportTokenizer, FilesGoAlong) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  model::save_model(model::load_model(fs::path(CROPE_SOURCE_DIR) / "tests/data/goldens/rope", log), folder / "m");
  write_file(folder / "m/tokenizer.json", R"({"added_tokens":[{"id":7,"content":"<|endoftext|>"}],"model":{}})");
  export_hf(folder / "m", folder / "hf", torch::kFloat32, log);
  EXPECT_EQ(read_json(folder / "hf/config.json")["eos_token_id"], 7);
  EXPECT_EQ(read_json(folder / "hf/tokenizer_config.json")["eos_token"], "<|endoftext|>");
  import_hf(folder / "hf", folder / "back", log);
  EXPECT_EQ(read_file(folder / "back/tokenizer.json"), read_file(folder / "m/tokenizer.json"));
}

}  // namespace
}  // namespace crope::interop
