#include "crope/ops/product_source.h"

#include <atomic>
#include <cstdlib>
#include <optional>

#include "crope/base/error.h"
#include "crope/ops/cpu/isa.h"
#include "crope/ops/cpu/panels.h"

namespace crope::ops {
namespace {

using enum ProductSource;

// Whether MKL takes the processor for one that it has its best kernels for.
bool is_intel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

std::optional<ProductSource> of_environment() {
  const char* value = std::getenv("CROPE_PRODUCTS");
  if (value == nullptr || *value == '\0') return {};
  const ProductSource source = Choice<ProductSource>::by_name(value, "CROPE_PRODUCTS");
  if (source == own && !cpu::product_kernels_pay()) {
    throw UsageError("CROPE_PRODUCTS=own: there are no such kernels for the instruction set " + cpu::instruction_set(),
                     "unset it to use LibTorch's BLAS");
  }
  return source;
}

// The faster source by measurements.
ProductSource of_machine(ProductUse use) {
  static const bool intel = is_intel();
  if (!cpu::product_kernels_pay()) return blas;
  if (use == ProductUse::training) return own;
  // With the few hundred rows of a prompt MKL is faster than ours, but for AVX-512, which it uses on Intel's only.
  const bool wide = cpu::product_tile().columns >= 32;
  return wide && !intel ? own : blas;
}

ProductSource chosen(ProductUse use) {
  static const std::optional<ProductSource> forced = of_environment();
  return forced ? *forced : of_machine(use);
}

// The source that a run requires; -1 where none does.
std::atomic<int>& training_override() {
  static std::atomic<int> source = -1;
  return source;
}

}  // namespace

ProductSource product_source(ProductUse use) {
  const int asked = use == ProductUse::training ? training_override().load(std::memory_order_relaxed) : -1;
  return asked < 0 ? chosen(use) : static_cast<ProductSource>(asked);
}

void use_training_products(ProductSource source) {
  training_override().store(static_cast<int>(source), std::memory_order_relaxed);
}

}  // namespace crope::ops
