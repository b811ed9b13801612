#include "crope/model/parameter_file.h"

#include "crope/base/error.h"
#include "crope/base/log.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "crope/model/quantise.h"
#include "crope/model/tensor_file.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

class ParameterFileTest : public testing::Test {
 protected:
  ParameterFileTest() {
    config_ = {.vocab_size = 11,
               .num_layers = 1,
               .num_heads = 2,
               .d_model = 48,
               .d_ff = 40,
               .max_seq_len = 8,
               .variant = Variant::crope_qk};
    narrow_ = quantise(make_random_transformer(config_), ops::WeightType::int4);
    save_model(narrow_, folder_ / "m");
  }

  // What is said when a tensor has been replaced.
  std::string error_with(const std::string& name, const Tensor& value) {
    std::vector<formats::TensorSource> sources;
    {
      const auto file = formats::SafetensorsFile::open(folder_ / "m/model.safetensors");
      for (const auto& tensor : file.tensors()) {
        sources.push_back(tensor_source(tensor.name, tensor.name == name ? value : view_tensor(file, tensor).clone()));
      }
    }
    std::filesystem::create_directory(folder_ / "bad");
    formats::write_safetensors(folder_ / "bad/model.safetensors", std::move(sources));
    try {
      const ParameterFile file(folder_ / "bad", parameter_specs(config_));
      for (const ParameterSpec& spec : file.specs()) file.read_stored(spec);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  ModelConfig config_;
  Transformer narrow_;
  test::TemporaryFolder folder_;
};

TEST_F(ParameterFileTest, BlocksComeBackInHalvesAndInPairs) {
  const ParameterFile file(folder_ / "m", parameter_specs(config_));
  for (std::size_t i = 0; i < file.specs().size(); ++i) {
    const ParameterSpec& spec = file.specs()[i];
    const Parameter& parameter = narrow_.parameters[i];
    const StoredValue stored = file.read_stored(spec);
    const auto* matrix = std::get_if<ops::QuantisedMatrix>(&stored);
    ASSERT_EQ(matrix != nullptr, parameter.quantised.has_value()) << spec.name;
    const Tensor expected = matrix != nullptr ? ops::widened(*parameter.quantised) : parameter.value;
    if (matrix != nullptr) {
      EXPECT_TRUE(at::equal(ops::to_blocks(*matrix), ops::to_blocks(*parameter.quantised)));
    }
    EXPECT_TRUE(at::equal(file.read(spec, torch::kFloat32), expected)) << spec.name;
    EXPECT_TRUE(at::equal(file.read_pairs(spec), halves_to_pairs(expected, spec.paired_dimensions))) << spec.name;
    EXPECT_EQ(file.read(spec, torch::kFloat64).scalar_type(), torch::kFloat64);
  }
}

TEST_F(ParameterFileTest, HostileBlocksAreNamed) {
  const std::string name = "blocks.0.attention.v.weight";
  EXPECT_EQ(error_with("absent", {}), "");
  const auto has = [&](const Tensor& value, const char* words) {
    const std::string error = error_with(name, value);
    EXPECT_NE(error.find(name), std::string::npos) << error;
    EXPECT_NE(error.find(words), std::string::npos) << error;
  };
  has(at::zeros({48, 2, 17}, at::kByte), "blocks of 34, 18 or 20 bytes");
  has(at::zeros({48, 36}, at::kByte), "blocks of 34, 18 or 20 bytes");
  has(at::zeros({48, 1, 18}, at::kByte), "expected the shape [48, 2, 18], found [48, 1, 18]");
  has(at::zeros({47, 2, 18}, at::kByte), "expected the shape [48, 2, 18]");
  has(at::full({48, 2, 18}, 255, at::kByte), "scale of its blocks is not finite");
  has(at::zeros({48, 2, 34}, at::kChar), "found I8");
  EXPECT_EQ(error_with(name, at::zeros({48, 2, 34}, at::kByte)), "") << "another type of block is no error";
  EXPECT_NE(error_with("norm.weight", at::zeros({48, 2, 34}, at::kByte)).find("found U8"), std::string::npos);
}

// Only one half of a pair in blocks is no weight.
TEST_F(ParameterFileTest, APairIsOfOneKind) {
  EXPECT_EQ(error_with("blocks.0.attention.q.a", at::zeros({24, 24})), "");
  write_json(folder_ / "bad/config.json", config_to_json(config_));
  Log log(nullptr);
  EXPECT_THROW(load_quantised_model(folder_ / "bad", log), Error);
}

}  // namespace
}  // namespace crope::model
