#include "crope/train/run_products.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/ops/product_source.h"
#include "crope/run/run_dir.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;
using ops::ProductSource;
using ops::ProductUse;

class RunProducts : public testing::Test {
 protected:
  ~RunProducts() override { ops::use_training_products(before_); }

  void use(const Json& program) { use_products_of_run(program, group_, tiny_.log); }
  static ProductSource in_use() { return ops::product_source(ProductUse::training); }

  const ProductSource before_ = in_use();
  dist::ProcessGroup group_;
  TinyRun tiny_;
};

TEST_F(RunProducts, AreThoseOfTheRecord) {
  use({{"products", "blas"}});
  EXPECT_EQ(in_use(), ProductSource::blas);
  use(Json::object());  // an older run
  EXPECT_EQ(in_use(), ProductSource::blas);
  use({{"products", "own"}});
  EXPECT_EQ(in_use(), ProductSource::own);
  EXPECT_THROW(use({{"products", "mkl"}}), UsageError);
}

TEST_F(RunProducts, StayWhenTheRunIsResumed) {
  for (const ProductSource source : {ProductSource::own, ProductSource::blas}) {
    const std::string name(Choice<ProductSource>(source).name());
    JobRequest request = tiny_.request(name, {{"keep_checkpoints", 0}});
    request.program["products"] = name;
    train(resolve_job(request), tiny_.log);
    EXPECT_EQ(in_use(), source);
    const fs::path cut = tiny_.path(name + "_cut");
    fs::copy(tiny_.path(name), cut, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    run::link_checkpoint(cut, run::kLatestLink, 4);
    ops::use_training_products(source == ProductSource::own ? ProductSource::blas : ProductSource::own);
    tiny_.run(name + "_cut", {{"keep_checkpoints", 0}});  // does not name the products again
    EXPECT_EQ(in_use(), source);
    for (const char* file : {"model.safetensors", "train_state.safetensors"}) {
      EXPECT_EQ(read_file(tiny_.path(name) / run::kLatestLink / file), read_file(cut / run::kLatestLink / file))
          << file;
    }
  }
}

}  // namespace
}  // namespace crope::train
