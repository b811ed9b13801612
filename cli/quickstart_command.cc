// crope quickstart: from nothing to a report in minutes.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/outcome_table.h"
#include "cli/recipe.h"
#include "cli/version.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/threads.h"
#include "crope/study/quickstart.h"

namespace crope::cli {
namespace {

struct QuickstartFlags {
  study::QuickstartOptions options;
  std::string out = "out/quickstart";
  std::string recipe = "quickstart";
  int threads = 0;
  bool json = false;
};

void print_next_commands(const std::string& out) {
  fmt::print(
      "\nWhat to try next:\n"
      "  crope generate {0}/crope_all --prompt \"One morning\" --max-tokens 80\n"
      "  crope analyze {0}/rope\n"
      "  crope export {0}/crope_all {0}/crope_all_hf --format hf\n",
      out);
}

void run(QuickstartFlags flags) {
  Log log(stderr);
  const InterruptScope interrupt;
  flags.options.out = flags.out;
  flags.options.recipe = load_recipe(flags.recipe);
  flags.options.recipe["threads"] = resolve_thread_count(flags.threads);
  flags.options.program = program_record();
  at::set_num_threads(resolve_thread_count(flags.threads));
  const auto result = study::quickstart(flags.options, log);
  if (!result) throw Interrupted("stopped by a signal; run the same command again to resume");
  if (flags.json) {
    Json samples = Json::array();
    for (const study::Sample& sample : result->samples) {
      samples.push_back({{"variant", sample.variant}, {"prompt", sample.prompt}, {"text", sample.text}});
    }
    const Json json = {
        {"outcomes", outcomes_to_json(result->outcomes)}, {"samples", samples}, {"report", result->page.string()}};
    fmt::print("{}\n", json.dump());
    return;
  }
  print_outcomes(result->outcomes);
  fmt::print("\nSamples:\n");
  for (const study::Sample& sample : result->samples) {
    fmt::print("  {}: {}{}\n", sample.variant, sample.prompt, sample.text);
  }
  fmt::print("\nThe report: {}\n", result->page.string());
  print_next_commands(flags.out);
}

void declare_quickstart(Flags& flags) {
  const auto values = std::make_shared<QuickstartFlags>();
  flags.option("--out", values->out, "Folder of the study; run the command again to resume it");
  flags.option("--recipe", values->recipe, "Name or file of the recipe for every run");
  flags.option("--documents", values->options.world.documents, "Number of documents in the small world");
  flags.option("--limit", values->options.limit, "Items of each benchmark to score (0: all)");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print the result as one JSON object");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kQuickstartCommand = {"quickstart",
                                    "Make a small world, train three variants on it, score and report them",
                                    "crope quickstart --out out/quickstart", declare_quickstart};

}  // namespace crope::cli
