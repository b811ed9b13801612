#include "crope/model/tensor_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "crope/base/error.h"
#include "tests/temporary_folder.h"

namespace crope::model {
namespace {

using torch::Tensor;

TEST(TensorFile, RoundTripOfEveryTypeAndLayout) {
  const test::TemporaryFolder folder;
  std::vector<formats::TensorSource> sources;
  std::map<std::string, Tensor> values;
  for (const auto type : {torch::kFloat64, torch::kFloat32, torch::kFloat16, torch::kBFloat16, torch::kInt64,
                          torch::kInt32, torch::kInt16, torch::kInt8, torch::kUInt8, torch::kBool}) {
    values[c10::toString(type)] = (at::randn({3, 4}) * 3).to(type);
  }
  values["transposed"] = at::randn({3, 4}).t();
  values["scalar"] = at::tensor(2.5);
  values["empty"] = at::zeros({0, 3});
  for (const auto& [name, value] : values) sources.push_back(tensor_source(name, value));
  formats::write_safetensors(folder / "x", std::move(sources));

  const auto file = formats::SafetensorsFile::open(folder / "x");
  for (const auto& [name, value] : values) {
    const Tensor read = view_tensor(file, name);
    EXPECT_EQ(read.scalar_type(), value.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read, value)) << name;
  }
  EXPECT_THROW(view_tensor(file, "absent"), Error);
  EXPECT_THROW(element_type(torch::kComplexFloat), Error);
}

TEST(TensorFile, ViewsOutliveTheFileObjectAndKeepWritesToThemselves) {
  const test::TemporaryFolder folder;
  formats::write_safetensors(folder / "x", {tensor_source("a", at::ones({3}))});
  Tensor view;
  {
    const auto file = formats::SafetensorsFile::open(folder / "x");
    view = view_tensor(file, "a");
    EXPECT_EQ(view.data_ptr(), file.at("a").bytes.data());
  }
  view.add_(1);
  EXPECT_TRUE(at::equal(view, at::full({3}, 2.0f)));
  EXPECT_TRUE(at::equal(view_tensor(formats::SafetensorsFile::open(folder / "x"), "a"), at::ones({3})));
}

// Foreign writers do not align: those tensors are copied.
TEST(TensorFile, UnalignedBytesAreCopied) {
  const test::TemporaryFolder folder;
  const std::string header = R"({"b":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},)"
                             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const std::uint64_t length = header.size();
  const float value = 1.25;
  std::string contents(reinterpret_cast<const char*>(&length), 8);
  contents += header + 'x' + std::string(reinterpret_cast<const char*>(&value), 4);
  write_file(folder / "x", contents);
  const auto file = formats::SafetensorsFile::open(folder / "x");
  EXPECT_EQ(view_tensor(file, "a").item<float>(), 1.25f);
}

}  // namespace
}  // namespace crope::model
