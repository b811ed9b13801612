// The operations beside what they replace, both in one run. Each pair is checked against each other before it is timed.
//
//   build/release/bench/ops_bench --benchmark_filter=block_linear --benchmark_repetitions=9
//                                 --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <functional>

#include "crope/base/threads.h"
#include "crope/ops/block_linear.h"
#include "crope/ops/newton_schulz.h"

namespace {

using crope::ops::ComplexWeight;
using torch::Tensor;

using Operation = std::function<Tensor(const std::vector<Tensor>&)>;

void require_close(const Tensor& x, const Tensor& y, const char* what) {
  const double error = ((x - y).norm() / y.norm()).item<double>();
  if (error < 1e-5) return;
  std::fprintf(stderr, "%s: results differ by %g\n", what, error);
  std::exit(1);
}

void forward_and_backward(benchmark::State& state, const Operation& operation, std::vector<Tensor> inputs) {
  for (Tensor& input : inputs) input = input.clone().requires_grad_();
  Tensor grad = at::ones_like(operation(inputs));
  for (auto _ : state) {
    benchmark::DoNotOptimize(torch::autograd::grad({operation(inputs)}, inputs, {grad}));
  }
}

// R x 2N rows through [2M, 2N].
struct LinearCase {
  int64_t R, D;
  Tensor x = at::randn({R, D});
  ComplexWeight pair{at::randn({D / 2, D / 2}), at::randn({D / 2, D / 2})};
};

Tensor tied(const std::vector<Tensor>& in) {
  return crope::ops::block_linear(in[0], {in[1], in[2]});
}
Tensor dense(const std::vector<Tensor>& in) {
  return at::linear(in[0], in[1]);
}

void block_linear(benchmark::State& state) {
  const LinearCase c{state.range(0), state.range(1)};
  require_close(tied({c.x, c.pair.a, c.pair.b}), dense({c.x, crope::ops::expand(c.pair)}), "block_linear");
  forward_and_backward(state, tied, {c.x, c.pair.a, c.pair.b});
}

void dense_linear(benchmark::State& state) {
  const LinearCase c{state.range(0), state.range(1)};
  forward_and_backward(state, dense, {c.x, crope::ops::expand(c.pair)});
}

void newton_schulz_pair(benchmark::State& state) {
  const LinearCase c{1, state.range(0)};
  // In fp64: the iteration magnifies rounding where singular values are small.
  const ComplexWeight wide{c.pair.a.to(torch::kFloat64), c.pair.b.to(torch::kFloat64)};
  const Tensor result = crope::ops::expand(crope::ops::newton_schulz(wide));
  require_close(result, crope::ops::newton_schulz(crope::ops::expand(wide)), "newton_schulz");
  for (auto _ : state) benchmark::DoNotOptimize(crope::ops::newton_schulz(c.pair));
}

void newton_schulz_dense(benchmark::State& state) {
  const Tensor x = at::randn({state.range(0), state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(crope::ops::newton_schulz(x));
}

// The iteration of torch.optim.Muon, in fp32: whole products where ours uses that they are symmetric.
Tensor plain_newton_schulz(const Tensor& x) {
  const auto [c0, c1, c2] = crope::ops::NewtonSchulzOptions().coefficients;
  Tensor y = x / x.norm().clamp_min(1e-7);
  for (int step = 0; step < 5; ++step) {
    const Tensor s = y.mm(y.t());
    y = at::addmm(y, at::addmm(s, s, s, c1, c2), y, c0);
  }
  return y;
}

void newton_schulz_plain(benchmark::State& state) {
  const Tensor x = at::randn({state.range(0), state.range(0)});
  const Tensor wide = x.to(torch::kFloat64);
  require_close(plain_newton_schulz(wide), crope::ops::newton_schulz(wide), "plain_newton_schulz");
  for (auto _ : state) benchmark::DoNotOptimize(plain_newton_schulz(x));
}

BENCHMARK(block_linear)->Args({2048, 1024})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(dense_linear)->Args({2048, 1024})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(newton_schulz_pair)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(newton_schulz_plain)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(newton_schulz_dense)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(crope::available_processors());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
