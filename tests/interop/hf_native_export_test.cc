#include "crope/interop/hf_native_export.h"

#include <cmath>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/interop/modelling_file.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"
#include "tests/golden_models.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;

class HfNativeExport : public testing::TestWithParam<std::string> {
 protected:
  fs::path golden() const { return test::golden_folder(GetParam()); }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_P(HfNativeExport, HasTheTensorsAndIsAModelDirectory) {
  const ExportReport report = export_hf_native(golden(), folder_ / "out", torch::kFloat32, log_);
  EXPECT_EQ(report.largest_difference, 0);
  const auto before = formats::SafetensorsFile::open(golden() / "model.safetensors");
  const auto after = formats::SafetensorsFile::open(folder_ / "out/model.safetensors");
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  for (const auto& tensor : before.tensors()) {
    EXPECT_TRUE(at::equal(model::view_tensor(before, tensor), model::view_tensor(after, tensor.name))) << tensor.name;
  }
  Json config = read_json(folder_ / "out/config.json");
  EXPECT_EQ(config["auto_map"]["AutoModelForCausalLM"], "modeling_crope.CRopeForCausalLM");
  EXPECT_EQ(config["model_type"], "crope");
  for (const char* key : {"auto_map", "architectures", "model_type", "torch_dtype"}) config.erase(key);
  EXPECT_EQ(config, model::config_to_json(model::load_config(golden())));
  EXPECT_EQ(read_file(folder_ / "out/modeling_crope.py"), modelling_source());
  EXPECT_TRUE(fs::exists(folder_ / "out/README.md"));
}

INSTANTIATE_TEST_SUITE_P(AllModels, HfNativeExport, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return test::golden_test_name(info.param); });

TEST(HfNativeExportFiles, TypesAndTokenizer) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  model::save_model(model::load_model(test::golden_folder("crope_all"), log), folder / "m");
  write_file(folder / "m/tokenizer.json", R"({"added_tokens":[{"id":7,"content":"<|endoftext|>"}],"model":{}})");
  export_hf_native(folder / "m", folder / "out", torch::kBFloat16, log);
  const auto file = formats::SafetensorsFile::open(folder / "out/model.safetensors");
  for (const auto& tensor : file.tensors()) EXPECT_EQ(tensor.type, formats::ElementType::bf16) << tensor.name;
  const Json config = read_json(folder / "out/config.json");
  EXPECT_EQ(config["torch_dtype"], "bfloat16");
  EXPECT_EQ(config["eos_token_id"], 7);
  EXPECT_EQ(read_json(folder / "out/generation_config.json")["pad_token_id"], 7);
  EXPECT_EQ(read_json(folder / "out/tokenizer_config.json")["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(read_file(folder / "out/tokenizer.json"), read_file(folder / "m/tokenizer.json"));
}

TEST(HfNativeExportFiles, RefusesAnExistingFolderAndWeightsThatAreNotFinite) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  fs::create_directory(folder / "exists");
  EXPECT_THROW(export_hf_native(test::golden_folder("rope"), folder / "exists", torch::kFloat32, log), Error);
  model::Transformer model = model::load_model(test::golden_folder("rope"), log);
  model.norm[0] = NAN;
  model::save_model(model, folder / "bad");
  EXPECT_THROW(export_hf_native(folder / "bad", folder / "out", torch::kFloat32, log), Error);
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace
}  // namespace crope::interop
