#include "crope/interop/dense_tensors.h"

#include "crope/base/log.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

class DenseTensorsOf : public testing::TestWithParam<std::string> {};

// Every projection is the matrix that the model multiplies by, and every gain as long as what it scales.
TEST_P(DenseTensorsOf, AreTheMatricesOfTheModel) {
  Log log(nullptr);
  const std::filesystem::path dir = test::golden_folder(GetParam());
  const model::Transformer model = model::load_model(dir, log);
  const DenseTensors tensors(dir, model.config);
  const std::array<int, 2> both = {0, 1};
  const char* names[] = {"q", "k", "v"};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = std::string("blocks.0.attention.") + names[i];
    const ops::Weight& weight = model.blocks[0].attention.qkv[i];
    const at::Tensor expected = model::halves_to_pairs(ops::dense_matrix(weight).detach(), both);
    ASSERT_TRUE(tensors.contains(name));
    EXPECT_TRUE(at::equal(tensors.read(name), expected)) << name;
  }
  EXPECT_EQ(tensors.read("blocks.0.attention_norm").sizes(), (at::IntArrayRef{model.config.d_model}));
  if (model.config.qk_norm) {
    EXPECT_EQ(tensors.read("blocks.0.attention.q_norm").sizes(), (at::IntArrayRef{model.config.qk_width()}));
  }
  EXPECT_FALSE(tensors.contains("blocks.0.attention.z"));
}

INSTANTIATE_TEST_SUITE_P(AllModels, DenseTensorsOf, testing::ValuesIn(test::golden_models()),
                         [](const auto& info) { return test::golden_test_name(info.param); });

TEST(DenseTensors, QkNormsWithoutGainsAreOnes) {
  const std::filesystem::path dir = test::golden_folder("more/crope_all_qk_gain_none");
  const model::ModelConfig config = model::load_config(dir);
  ASSERT_EQ(config.qk_gain, model::Gain::none);
  const DenseTensors tensors(dir, config);
  ASSERT_TRUE(tensors.contains("blocks.0.attention.q_norm"));
  EXPECT_TRUE(at::equal(tensors.read("blocks.0.attention.q_norm"), at::ones({config.qk_width()})));
}

}  // namespace
}  // namespace crope::interop
