// crope reproduce: the paper's study at some scale.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/claim_table.h"
#include "cli/command.h"
#include "cli/outcome_table.h"
#include "cli/recipe.h"
#include "cli/version.h"
#include "crope/base/interrupt.h"
#include "crope/base/progress.h"
#include "crope/base/threads.h"
#include "crope/study/reproduce.h"

namespace crope::cli {
namespace {

struct ReproduceFlags {
  std::string scale;
  std::string out, data, benchmarks, launch;
  std::int64_t seeds = 1;
  int threads = 0;
  bool plan_only = false;
  bool json = false;
};

// The file that runs now.
std::filesystem::path own_program() {
  std::error_code code;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", code);
  return code ? "crope" : path;
}

void show_plan(const study::Plan& plan, Log& log) {
  std::size_t done = 0;
  for (const study::PlannedRun& run : plan.runs) done += run.is_done ? 1 : 0;
  log.info(fmt::format("plan: {} runs, {} done already; {} tokens/s measured; about {} of training", plan.runs.size(),
                       done, format_count(plan.tokens_per_second), format_duration(plan.seconds)));
}

void run(const ReproduceFlags& flags) {
  Log log(stderr);
  const InterruptScope interrupt;
  at::set_num_threads(resolve_thread_count(flags.threads));
  study::ReproduceOptions options{.scale = study::scale_by_name(flags.scale),
                                  .recipe = {},
                                  .out = flags.out,
                                  .data = flags.data,
                                  .benchmarks = flags.benchmarks,
                                  .seeds = flags.seeds,
                                  .program = program_record(),
                                  .launcher = {.command = flags.launch, .program = own_program()}};
  options.recipe = load_recipe(options.scale.recipe);
  // Ranks that are launched have their share of the machine each.
  if (flags.launch.empty() || flags.threads > 0) options.recipe["threads"] = resolve_thread_count(flags.threads);
  show_plan(study::plan_study(options, log), log);
  if (flags.plan_only) return;
  const auto result = study::reproduce(options, log);
  if (!result) {
    log.info("stopped by a signal; the same command goes on from here");
    return;
  }
  if (flags.json) {
    fmt::print("{}\n", Json({{"outcomes", outcomes_to_json(result->outcomes)},
                             {"claims", study::claims_to_json(result->claims)},
                             {"report", result->page.string()}})
                           .dump());
    return;
  }
  print_outcomes(result->outcomes);
  fmt::print("\n");
  print_claims(result->claims);
  fmt::print("\nThe report: {}\n", result->page.string());
}

void declare_reproduce(Flags& flags) {
  const auto values = std::make_shared<ReproduceFlags>();
  flags.option("--scale", values->scale, "smoke (minutes), small (hours on a laptop) or paper (needs --data)");
  flags.require("--scale");
  flags.option("--out", values->out, "Folder of the study; started again it goes on there");
  flags.require("--out");
  flags.option("--data", values->data, "Data directory to train on, instead of the small world");
  flags.option("--benchmarks", values->benchmarks, "Folder with hellaswag/, mmlu/ and gsm8k/");
  flags.option("--seeds", values->seeds, "Runs per variant; a verdict on losses or scores needs at least 2");
  flags.option("--threads", values->threads, "0 takes all processors");
  flags.option("--launch", values->launch,
               "Start each run as several ranks: \"torchrun --nproc-per-node 8 --no-python\"");
  flags.option("--plan", values->plan_only, "Say what would be done and how long it takes, and stop");
  flags.option("--json", values->json, "The result as one JSON object");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kReproduceCommand = {"reproduce",
                                   "Train, evaluate and report all six variants, and judge the paper's claims",
                                   "crope reproduce --scale smoke --out out/smoke", declare_reproduce};

}  // namespace crope::cli
