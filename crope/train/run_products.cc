#include "crope/train/run_products.h"

#include <fmt/format.h>

#include "crope/ops/product_source.h"
#include "crope/run/run_dir.h"

namespace crope::train {

void use_products_of_run(const Json& program, dist::ProcessGroup& group, Log& log) {
  const Choice<ops::ProductSource> chosen = ops::product_source(ops::ProductUse::training);
  const std::string name = group.gather(program.value("products", std::string(chosen.name()))).front();
  const auto source = Choice<ops::ProductSource>::by_name(name, "products");
  if (source != chosen) log.info(fmt::format("matrix products: {}, as in {}", name, run::kRecordFile));
  ops::use_training_products(source);
}

}  // namespace crope::train
