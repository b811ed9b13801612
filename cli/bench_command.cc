// crope bench: how fast this program is on this machine.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/profile_table.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/base/memory.h"
#include "crope/base/progress.h"
#include "crope/base/threads.h"
#include "crope/study/bench.h"
#include "crope/study/growth.h"

namespace crope::cli {
namespace {

struct BenchFlags {
  explicit BenchFlags(Flags& flags) : model(flags, "small_cpu") {}

  ModelFlags model;
  std::int64_t rows = 4;
  std::int64_t seq_len = 256;
  std::vector<std::string> variants;
  std::vector<std::string> axes;
  int repetitions = 5;
  int threads = 0;
  bool growth = false;
  std::string out;
  bool json = false;
};

void line(const std::string& name, const std::string& value) {
  fmt::print("{:<36}{}\n", name, value);
}

// `weights` is what is added to the names: ", int8".
void print_decoding(const study::DecodeSpeed& speed, const std::string& weights, double read_bytes) {
  line("  prompt" + weights, fmt::format("{} tokens/s", format_count(speed.prefill_tokens_per_second)));
  line("  decoding" + weights,
       fmt::format("{} tokens/s, {:.0f}% of the memory's speed", format_count(speed.decode_tokens_per_second),
                   100 * speed.read_bytes / read_bytes));
}

void print_bench(const study::BenchResult& result) {
  const double peak = result.machine.gemm_flops;
  line("threads", std::to_string(result.threads));
  line("kernels", result.instruction_set);
  line("GEMM peak, fp32", fmt::format("{:.1f} GF/s", 1e-9 * peak));
  line("memory", fmt::format("{:.1f} GB/s read, {:.1f} GB/s written", 1e-9 * result.machine.read_bytes,
                             1e-9 * result.machine.write_bytes));
  for (const study::ProductSpeed& speed : result.products) {
    line(speed.name, fmt::format("{:.1f} GF/s, own kernels {:.2f}x BLAS", 1e-9 * speed.own_flops,
                                 speed.own_flops / speed.blas_flops));
  }
  for (const study::VariantBench& each : result.variants) {
    const study::StepCost& step = each.step;
    fmt::print("\n{}\n", each.variant);
    line("  forward", fmt::format("{:.2f} ms", 1e3 * step.forward_s));
    line("  backward", fmt::format("{:.2f} ms", 1e3 * step.backward_s));
    line("  optimiser", fmt::format("{:.2f} ms", 1e3 * step.optimizer_s));
    line("  the same in bf16", fmt::format("{:.2f} ms forward, {:.2f} ms backward", 1e3 * each.bf16_step.forward_s,
                                           1e3 * each.bf16_step.backward_s));
    line("  share of GEMM peak",
         fmt::format("{:.0f}% (forward and backward)", 100 * step.flops / step.gradient_s() / peak));
    line("  tensors at most", fmt::format("{} ({} of it weights, gradients and optimiser state)",
                                          format_bytes(static_cast<double>(step.peak_bytes)),
                                          format_bytes(static_cast<double>(step.lasting_bytes))));
    print_decoding(each.decode, "", result.machine.read_bytes);
    for (const auto& [type, speed] : each.rounded) print_decoding(speed, ", " + type, result.machine.read_bytes);
    fmt::print("{}", profile_table(step.parts, step.mean_s, peak));
  }
  fmt::print("\n");
  const std::string precision = study::recommended_precision(result);
  line("faster training in", fmt::format("{}: crope train --precision {}", precision, precision));
  line("tokenizer", fmt::format("{:.1f} MB/s encoding, {:.1f} MB/s training", 1e-6 * result.tokenizer.encode_bytes,
                                1e-6 * result.tokenizer.train_bytes));
  line("peak of memory", format_bytes(static_cast<double>(result.peak_memory)));
}

void print_growth(const std::vector<study::GrowthAxis>& axes) {
  for (const study::GrowthAxis& axis : axes) {
    fmt::print("{}{} ({})\n", &axis == &axes.front() ? "" : "\n", axis.label, axis.fixed);
    fmt::print("  {:>8}  {:<16}{:>14}{:>14}{:>14}{:>14}\n", "", "", "forward, ms", "backward, ms", "optimiser, ms",
               "tensors");
    for (const study::GrowthPoint& point : axis.points) {
      fmt::print("  {:>8}  {:<16}{:>14.1f}{:>14.1f}{:>14.1f}{:>14}\n", point.value, point.variant,
                 1e3 * point.cost.forward_s, 1e3 * point.cost.backward_s, 1e3 * point.cost.optimizer_s,
                 format_bytes(static_cast<double>(point.cost.peak_bytes)));
    }
  }
}

void run_growth(const BenchFlags& flags, Log& log) {
  study::GrowthOptions options{.repetitions = flags.repetitions};
  if (!flags.variants.empty()) options.variants = flags.variants;
  if (!flags.axes.empty()) options.axes = flags.axes;
  const std::vector<study::GrowthAxis> axes = study::measure_growth(options, log);
  if (!flags.out.empty()) study::draw_growth(axes, flags.out);
  flags.json ? fmt::print("{}\n", study::to_json(axes).dump(2)) : print_growth(axes);
}

void run_bench_command(const BenchFlags& flags) {
  Log log(stderr);
  const InterruptScope interrupt;
  at::set_num_threads(resolve_thread_count(flags.threads));
  if (!flags.growth && (!flags.out.empty() || !flags.axes.empty())) {
    throw UsageError("--out and --axis belong to --growth", "crope bench --growth --out figures");
  }
  if (flags.growth) return run_growth(flags, log);
  study::BenchOptions options;
  options.step.config = flags.model.resolve();
  options.step.rows = flags.rows;
  options.step.seq_len = flags.seq_len;
  options.repetitions = flags.repetitions;
  if (!flags.variants.empty()) options.variants = flags.variants;
  const study::BenchResult result = study::run_bench(options, log);
  flags.json ? fmt::print("{}\n", study::to_json(result).dump(2)) : print_bench(result);
}

void declare_bench(Flags& flags) {
  const auto values = std::make_shared<BenchFlags>(flags);
  flags.option("--rows", values->rows, "Rows per batch");
  flags.option("--seq-len", values->seq_len, "Tokens per row");
  flags.option("--variant", values->variants, "Variant to measure; may be repeated (default: rope and crope_all)");
  flags.option("--repetitions", values->repetitions, "Repetitions per measurement; the median is printed");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--growth", values->growth,
               "Measure instead how the cost of a step grows, one dimension at a time (takes minutes)");
  flags.option("--axis", values->axes,
               "With --growth: dimension to vary (seq_len, width, layers, batch or threads); may be repeated");
  flags.option("--out", values->out, "With --growth: folder for its figures");
  flags.option("--json", values->json, "Print one JSON document instead of tables");
  flags.run([values] { run_bench_command(*values); });
}

}  // namespace

const Command kBenchCommand = {"bench", "Measure this machine, a training step by part, decoding and the tokenizer",
                               "crope bench --recipe paper --rows 2 --seq-len 512", declare_bench};

}  // namespace crope::cli
