// Matrices made of weights for products: casts to the type of the arithmetic, and the expanded matrices of pairs. A
// step has many products with one weight; what they read is made once.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace crope::ops {

class DerivedWeightStore;

// While it lives, this thread keeps what is derived from `weights` and returns it when it is wanted again.
// REQUIRES: the weights do not change in that time.
class DerivedWeightScope {
 public:
  explicit DerivedWeightScope(std::span<const torch::Tensor> weights);
  // Shares the store of another thread's scope; null: keeps nothing.
  explicit DerivedWeightScope(std::shared_ptr<DerivedWeightStore> store);
  ~DerivedWeightScope();

  DerivedWeightScope(const DerivedWeightScope&) = delete;
  DerivedWeightScope& operator=(const DerivedWeightScope&) = delete;

 private:
  std::shared_ptr<DerivedWeightStore> before_;
};

// The store of this thread's innermost scope, or null.
std::shared_ptr<DerivedWeightStore> current_derived_weights();

// The result of `make` for `sources`, computed at the first call and kept if all sources share memory with weights of
// the scope. `kind` tells apart what different callers make of the same sources; it is a string literal. The result has
// no gradient.
torch::Tensor derived_weight(const char* kind, const std::vector<torch::Tensor>& sources, torch::ScalarType type,
                             const std::function<torch::Tensor()>& make);

// `weight` in `type`: itself where that is its type, else a cast, kept as above.
torch::Tensor derived_cast(const torch::Tensor& weight, torch::ScalarType type);

}  // namespace crope::ops
