// crope examples: the paper's illustrative heads.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/log.h"
#include "crope/base/threads.h"
#include "crope/study/examples.h"

namespace crope::cli {
namespace {

struct ExamplesFlags {
  std::string out;
  study::ExampleOptions options;
  std::int64_t seeds = 3;
  std::int64_t max_width = 4096;
  bool skip_training = false;
  int threads = 0;
  bool json = false;
};

void print_table(const study::Examples& examples, const std::string& out) {
  fmt::print("{:<28}{:<10}{:<15}{:>12}{:>10}{:>11}{:>9}{:>11}\n", "task", "positions", "mask", "rows right", "weight",
             "elsewhere", "score", "elsewhere");
  for (const analysis::HeadSample& sample : examples.heads.samples) {
    const analysis::HeadMeasures& m = sample.measures;
    fmt::print("{:<28}{:<10}{:<15}{:>12}{:>10.4f}{:>11.4f}{:>9.4f}{:>11.4f}\n", analysis::head_task_name(sample.task),
               analysis::head_kind_name(sample.kind),
               sample.options.mask == ops::Mask::causal ? "causal" : "bidirectional",
               fmt::format("{}/{}", m.rows_right, m.rows), m.target_weight, m.largest_elsewhere, m.target_score,
               m.elsewhere_score);
  }
  if (!examples.trained.empty()) {
    fmt::print("\n{:<12}{:>5}{:>6}{:>12}{:>10}", "trained", "D", "seed", "parameters", "accuracy");
    for (const std::int64_t first : examples.toy_options.first_positions)
      fmt::print("{:>11}", fmt::format("from {}", first));
    fmt::print("\n");
    for (const analysis::ToyRun& run : examples.trained) {
      fmt::print("{:<12}{:>5}{:>6}{:>12}{:>10.4f}", analysis::toy_kind_name(run.kind), run.D, run.seed, run.parameters,
                 run.accuracy.back());
      for (const double accuracy : run.moved_accuracy) fmt::print("{:>11.4f}", accuracy);
      fmt::print("\n");
    }
  }
  if (!out.empty()) fmt::print("\nwrote {}/index.html\n", out);
}

void run(ExamplesFlags flags) {
  Log log(stderr);
  at::set_num_threads(resolve_thread_count(flags.threads));
  flags.options.train = !flags.skip_training;
  if (flags.seeds < 1) throw UsageError(fmt::format("--seeds {}: expected at least one", flags.seeds));
  std::erase_if(flags.options.heads.widths, [&](std::int64_t D) { return D > flags.max_width; });
  flags.options.toy.seeds.clear();
  for (std::int64_t seed = 0; seed < flags.seeds; ++seed)
    flags.options.toy.seeds.push_back(static_cast<std::uint64_t>(seed));
  if (!flags.out.empty()) {
    // Where nothing can be written is told before the work, not after it.
    make_folder(flags.out);
    const AtomicFile first(std::filesystem::path(flags.out) / "examples.json");
  }
  const study::Examples examples = study::make_examples(flags.options, log);
  if (!flags.out.empty()) study::write_examples(examples, flags.out);
  if (flags.json) {
    fmt::print("{}\n", study::examples_to_json(examples).dump());
  } else {
    print_table(examples, flags.out);
  }
}

void declare_examples(Flags& flags) {
  const auto values = std::make_shared<ExamplesFlags>();
  flags.option("--out", values->out, "Folder for examples.json, the figures and a page that shows them");
  flags.option("--width", values->options.heads.head.D, "Width of the head in the table");
  flags.option("--length", values->options.heads.head.T, "Length of the sequence");
  flags.option("--max-width", values->max_width, "Largest width in the curves");
  flags.option("--seeds", values->seeds, "Number of seeds per trained layer");
  flags.option("--steps", values->options.toy.steps, "Training steps per layer");
  flags.option("--skip-training", values->skip_training, "Skip the trained layers: heads with analytic weights only");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of tables");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kExamplesCommand = {"examples", "Build the paper's illustrative heads, and train a layer on their task",
                                  "crope examples --out out/examples", declare_examples};

}  // namespace crope::cli
