// crope data synth: the embedded corpus and its benchmarks.
#include <fmt/format.h>

#include <memory>

#include "cli/data_command.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/world/synthetic_world.h"

namespace crope::cli {
namespace {

struct SynthFlags {
  world::WorldOptions world;
  std::int64_t seed = 1;
  std::string out;
  bool json = false;
};

void run(SynthFlags flags) {
  if (flags.seed < 0) throw UsageError(fmt::format("--seed is {}, expected zero or more", flags.seed));
  flags.world.seed = static_cast<std::uint64_t>(flags.seed);
  Log log(stderr);
  const InterruptScope interrupts;
  const Json summary = world::write_synthetic_world(flags.world, flags.out, log);
  if (flags.json) {
    fmt::print("{}\n", summary.dump());
    return;
  }
  for (const auto& [name, value] : summary.items()) fmt::print("{:<20}{:>14}\n", name, value.dump());
  fmt::print("{:<20}{}\n", "written to", flags.out);
}

}  // namespace

void declare_data_synth(Flags& flags) {
  const auto values = std::make_shared<SynthFlags>();
  world::BenchmarkSizes& sizes = values->world.benchmarks;
  flags.option("--documents", values->world.documents, "Number of training documents");
  flags.option("--seed", values->seed, "Random seed; it gives the same bytes on every machine");
  flags.option("--out", values->out, "Folder to create");
  flags.require("--out");
  flags.option("--hellaswag-items", sizes.hellaswag_items, "Number of items in the form of HellaSwag");
  flags.option("--mmlu-items", sizes.mmlu_items, "Number of items in the form of MMLU, plus five examples per subject");
  flags.option("--gsm8k-items", sizes.gsm8k_items, "Number of problems in the form of GSM8K, plus as many examples");
  flags.option("--json", values->json, "Print the summary as one JSON object");
  flags.run([values] { run(*values); });
}

}  // namespace crope::cli
