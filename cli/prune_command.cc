// crope prune: a model with a share of its weights set to zero.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "crope/base/interrupt.h"
#include "crope/base/json.h"
#include "crope/base/threads.h"
#include "crope/interop/prune.h"

namespace crope::cli {
namespace {

struct PruneFlags {
  std::string dir;
  std::string out;
  interop::PruneOptions options;
  std::string calibrate;
  int threads = 0;
  bool json = false;
};

Json prune_json(const PruneFlags& flags, const std::vector<interop::PrunedKind>& kinds) {
  Json rows = Json::array();
  for (const interop::PrunedKind& kind : kinds) {
    rows.push_back(
        {{"matrices", kind.name}, {"numbers", kind.numbers}, {"zeros", kind.zeros}, {"kept_energy", kind.kept_energy}});
  }
  return {{"directory", flags.out},
          {"sparsity", flags.options.sparsity},
          {"structure", flags.options.structure.name()},
          {"pairs", flags.options.pairs.name()},
          {"rule", flags.calibrate.empty() ? "magnitude" : "wanda"},
          {"kinds", std::move(rows)}};
}

void run_prune(const PruneFlags& flags) {
  at::set_num_threads(resolve_thread_count(flags.threads));
  Log log(stderr);
  const InterruptScope interrupts;
  const auto kinds = interop::prune_directory(flags.dir, flags.out, flags.options, flags.calibrate, log);
  if (flags.json) {
    fmt::print("{}\n", prune_json(flags, kinds).dump());
    return;
  }
  fmt::print("{:<20}{:>14}{:>14}{:>10}{:>14}\n", "matrices", "numbers", "zeros", "share", "kept energy");
  for (const interop::PrunedKind& kind : kinds) {
    fmt::print("{:<20}{:>14}{:>14}{:>10.4f}{:>14.4f}\n", kind.name, kind.numbers, kind.zeros,
               static_cast<double>(kind.zeros) / static_cast<double>(kind.numbers), kind.kept_energy);
  }
  fmt::print("wrote {}\n", flags.out);
}

void declare_prune(Flags& flags) {
  const auto values = std::make_shared<PruneFlags>();
  flags.positional("dir", values->dir, "A model or run directory");
  flags.positional("out", values->out, "Model directory to create");
  flags.option("--sparsity", values->options.sparsity, "Share of the weights of each matrix to set to zero");
  flags.require("--sparsity");
  flags.option("--structure", values->options.structure,
               "unstructured, or 2:4 (two of every four neighbours in a row; needs --sparsity 0.5)");
  flags.option("--calibrate", values->calibrate,
               "Text file whose activations weigh the inputs (Wanda's rule); without it the smallest weights are "
               "dropped");
  flags.option("--pairs", values->options.pairs,
               "complex (drop a tied pair's a and b together, as one complex number) or separate (rank them as two "
               "real numbers)");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of the table");
  flags.run([values] { run_prune(*values); });
}

}  // namespace

const Command kPruneCommand = {"prune", "Set a share of a model's weights to zero",
                               "crope prune out/model out/sparse --sparsity 0.5 --calibrate text.txt", declare_prune};

}  // namespace crope::cli
