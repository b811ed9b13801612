#include "crope/ops/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crope/base/error.h"

namespace crope::ops {

void check_shape(bool holds, std::string_view op, std::string_view name, std::string_view expected,
                 const torch::Tensor& got) {
  if (holds) return;
  throw Error(fmt::format("[{}] {}: expected {}, got [{}]", op, name, expected, fmt::join(got.sizes(), ", ")));
}

}  // namespace crope::ops
