// Shape checks with one way of saying what was expected.
#pragma once

#include <torch/types.h>

#include <string_view>

namespace crope::ops {

// Throws Error "[op] name: expected <expected>, got [sizes]" unless `holds`.
void check_shape(bool holds, std::string_view op, std::string_view name, std::string_view expected,
                 const torch::Tensor& got);

}  // namespace crope::ops
