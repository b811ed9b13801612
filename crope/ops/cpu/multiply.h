// Lists of products on all threads, large ones by Strassen's scheme.
#pragma once

#include <span>

#include "crope/ops/cpu/sum_product.h"

namespace crope::ops::cpu {

// Products of one shape, one after the other; inside another parallel loop on the calling thread alone. Results are the
// same to the bit with any number of threads. REQUIRES: as SumProductRun.
void multiply(const TargetShape& shape, std::span<const SumProduct> products, ResultPart part = ResultPart::whole);

}  // namespace crope::ops::cpu
