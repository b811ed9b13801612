#include "crope/study/product_speed.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "crope/base/interrupt.h"
#include "crope/base/statistics.h"
#include "crope/base/stopwatch.h"
#include "crope/ops/newton_schulz.h"
#include "crope/ops/product_source.h"
#include "crope/ops/products.h"

namespace crope::study {
namespace {

using ops::ProductSource;
using ops::ProductUse;

// Uses one source while it lives.
class SourceScope {
 public:
  explicit SourceScope(ProductSource source) : before_(ops::product_source(ProductUse::training)) {
    ops::use_training_products(source);
  }
  ~SourceScope() { ops::use_training_products(before_); }
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

 private:
  ProductSource before_;
};

ProductSpeed measure(std::string name, double flops, int rounds, const std::function<void()>& work) {
  constexpr double kFlopsOfRound = 4e9;
  const int repetitions = std::max(1, static_cast<int>(kFlopsOfRound / flops));
  const auto rate = [&](ProductSource source) {
    throw_if_interrupted();
    const SourceScope scope(source);
    work();  // fetches memory, and the BLAS's threads
    return repetitions * flops / seconds_of([&] {
             for (int i = 0; i < repetitions; ++i) work();
           });
  };
  std::vector<double> own, blas;
  for (int round = 0; round < rounds; ++round) {
    own.push_back(rate(ProductSource::own));
    blas.push_back(rate(ProductSource::blas));
  }
  return {std::move(name), median(own), median(blas)};
}

}  // namespace

std::vector<ProductSpeed> measure_products(int rounds) {
  constexpr std::int64_t kRows = 1024;
  const at::NoGradGuard no_grad;
  std::vector<ProductSpeed> speeds;
  for (const std::int64_t D : {64, 256, 1024}) {
    const at::Tensor x = at::randn({kRows, D}), w = at::randn({D, D}), y = at::empty({kRows, D}), g = at::empty({D, D});
    const double flops = 2.0 * static_cast<double>(kRows * D * D);
    const std::string size = fmt::format("{0} x {0}", D);
    speeds.push_back(measure("linear " + size, flops, rounds, [&] { ops::multiply(y, x, w.t()); }));
    speeds.push_back(measure("its weight's gradient, " + size, flops, rounds, [&] { ops::multiply(g, y.t(), x); }));
    const ops::NewtonSchulzOptions options;
    speeds.push_back(measure("Newton-Schulz " + size, ops::newton_schulz_flops(D, D, ops::MatrixKind::real, options),
                             rounds, [&] { ops::newton_schulz(w, options); }));
  }
  return speeds;
}

}  // namespace crope::study
