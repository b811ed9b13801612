// How fast matrix products are by our own kernels and by LibTorch's BLAS on this machine (ops/product_source.h).
#pragma once

#include <string>
#include <vector>

namespace crope::study {

struct ProductSpeed {
  std::string name;  // "linear 1024 x 1024"
  double own_flops;  // a second, of fp32 products
  double blas_flops;
};

// Medians of `rounds` rounds in which both sides take turns: the product of a linear layer and the gradient of its
// weight with 1,024 rows, and Muon's iteration, at several widths. Seconds. REQUIRES: rounds > 0.
std::vector<ProductSpeed> measure_products(int rounds);

}  // namespace crope::study
