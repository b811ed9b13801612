// crope reproduce: the paper's study at some scale.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "cli/claim_table.h"
#include "cli/command.h"
#include "cli/outcome_table.h"
#include "cli/recipe.h"
#include "cli/version.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/progress.h"
#include "crope/base/threads.h"
#include "crope/study/paper_figures.h"
#include "crope/study/repeated_run.h"
#include "crope/study/reproduce.h"

namespace crope::cli {
namespace {

struct ReproduceFlags {
  std::string scale;
  std::string out, data, benchmarks, launch, only;
  std::vector<std::string> validate_also;
  std::int64_t seeds = 0;
  std::int64_t jobs = 0;
  std::string device = "auto";
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

study::ReproduceOptions resolve(const ReproduceFlags& flags) {
  study::ReproduceOptions options{.scale = study::scale_by_name(flags.scale),
                                  .recipe = {},
                                  .out = flags.out,
                                  .corpus = {.data = flags.data, .benchmarks = flags.benchmarks},
                                  .seeds = flags.seeds,
                                  .jobs = flags.jobs,
                                  .only = flags.only,
                                  .program = program_record(),
                                  .launcher = {.command = flags.launch, .program = own_program()}};
  if (flags.jobs < 0) {
    throw UsageError(fmt::format("--jobs is {}, expected 0 or more", flags.jobs),
                     "--jobs 2 suits a machine of two cores");
  }
  if (flags.seeds < 0) {
    throw UsageError(fmt::format("--seeds is {}, expected 0 or more", flags.seeds), "0 takes the scale's own number");
  }
  if (flags.jobs > 0 && flags.threads > 1) {
    throw UsageError("--jobs gives every run one thread", "omit --threads");
  }
  if (options.seeds == 0) options.seeds = options.scale.seeds;
  for (const std::string& argument : flags.validate_also) {
    options.corpus.validate_also.push_back(train::parse_other_text(argument));
  }
  options.corpus.world = options.scale.world;
  options.recipe = load_recipe(options.scale.recipe);
  options.recipe["device"] = flags.device;
  // Every launched rank has its own share of the machine.
  if (flags.launch.empty() || flags.threads > 0) options.recipe["threads"] = resolve_thread_count(flags.threads);
  return options;
}

void show_plan(const study::Plan& plan, Log& log) {
  std::size_t done = 0;
  for (const study::PlannedRun& run : plan.runs) done += run.is_done ? 1 : 0;
  log.info(fmt::format("plan: {} run{}, {} finished; {} tokens/s measured; about {} of training left", plan.runs.size(),
                       plan.runs.size() == 1 ? "" : "s", done, format_count(plan.tokens_per_second),
                       format_duration(plan.seconds)));
}

// Makes one finished run of the study again and reports whether it came out the same.
void repeat(const study::PlannedRun& planned, const study::ReproduceOptions& options, bool as_json, Log& log) {
  const auto result =
      study::repeat_run(planned.run, options.out / "repeated" / planned.run.filename(), options.program, log);
  if (!result) throw Interrupted("stopped by a signal; run the same command again to resume");
  const bool is_same = result->difference.empty();
  if (as_json) {
    fmt::print("{}\n", Json({{"run", result->run.string()},
                             {"identical", is_same},
                             {"lines", result->lines},
                             {"difference", is_same ? Json(nullptr) : Json(result->difference)}})
                           .dump());
  } else if (is_same) {
    fmt::print("{}: identical to the recorded run in all {} lines of metrics.jsonl\n", result->run.string(),
               result->lines);
  }
  if (!is_same) {
    throw Error(fmt::format("{} differs from {}: {}", result->run.string(), planned.run.string(), result->difference),
                "another build, another instruction set or another number of threads changes the last bits");
  }
}

void run(const ReproduceFlags& flags) {
  Log log(stderr);
  const InterruptScope interrupt;
  at::set_num_threads(flags.jobs > 0 ? 1 : resolve_thread_count(flags.threads));
  const study::ReproduceOptions options = resolve(flags);
  if (!options.only.empty()) {
    const std::vector<study::PlannedRun> runs = study::planned_runs(options);
    if (runs.front().is_done) return repeat(runs.front(), options, flags.json, log);
  }
  if (flags.plan_only) return show_plan(study::plan_study(options, log), log);
  const study::Corpus corpus = study::study_corpus(options, log);
  show_plan(study::plan_study(options, corpus, log), log);
  const auto result = study::reproduce(options, corpus, log);
  if (!result) throw Interrupted("stopped by a signal; run the same command again to resume");
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
  flags.option(
      "--scale", values->scale,
      "smoke (minutes), world (the quickstart's size, an hour), small (hours on two cores) or paper (needs --data)");
  flags.require("--scale");
  flags.option("--out", values->out, "Folder of the study; run the command again to resume it");
  flags.require("--out");
  flags.option(
      "--data", values->data,
      "Data directory, or text (.txt, .jsonl, .parquet, a folder) to make one from; default: the embedded world");
  flags.option("--validate-also", values->validate_also,
               "NAME=DIR or NAME=FILE: also validate on another text at the last step; may be repeated");
  flags.option("--benchmarks", values->benchmarks,
               fmt::format("Folder with the files of the benchmarks {}", fmt::join(study::paper_tasks(), ", ")));
  flags.option("--seeds", values->seeds,
               "Runs per variant (0: 1 for smoke, 5 for world and small, 3 for paper); a verdict needs at least 2");
  flags.option("--jobs", values->jobs,
               "Number of runs side by side, one thread each (0: one at a time with all threads)");
  flags.option("--only", values->only,
               "Make one run only, such as rope_0; if it is finished, make it again and compare the two");
  flags.option("--device", values->device, "auto (cuda if there is one), cpu, cuda or cuda:N");
  flags.option("--threads", values->threads, "Number of threads without --jobs (0: all processors)");
  flags.option("--launch", values->launch,
               "Start each run as several ranks: \"torchrun --nproc-per-node 8 --no-python\"");
  flags.option("--plan", values->plan_only, "Measure a few steps, print the plan with its time, and write nothing");
  flags.option("--json", values->json, "Print the result as one JSON object");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kReproduceCommand = {
    "reproduce", "Train, evaluate and report all six variants, and judge the paper's claims",
    "crope reproduce --scale small --data book.txt --out study --jobs 2", declare_reproduce};

}  // namespace crope::cli
