// Strassen's way: products of matrices in 2 x 2 blocks by seven products of blocks instead of eight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crope/ops/cpu/sum_product.h"

namespace crope::ops::cpu {

// Whether an eighth of the multiplications of [m, k] [k, n] is worth more than the sums that it takes.
bool strassen_pays(std::int64_t m, std::int64_t n, std::int64_t k);

// Products [m, n], one after the other, as products of blocks [m / 2, n / 2]. Rounding errors grow by
// a small factor, about two.
// REQUIRES: m, n and each k even; sums of at most two matrices, at most two targets.
std::vector<SumProduct> strassen(std::int64_t m, std::int64_t n, std::int64_t target_stride,
                                 std::span<const SumProduct> products);

}  // namespace crope::ops::cpu
