#include "crope/study/reproduce.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/nearest_name.h"
#include "crope/base/scratch_folder.h"
#include "crope/model/variant.h"
#include "crope/study/run_queue.h"
#include "crope/study/run_report.h"
#include "crope/study/study_data.h"
#include "crope/train/dry_run.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

// Every study validates on the whole validation part, and more often at its end, where the figures look closely.
std::vector<Scale> all_scales() {
  return {
      {.name = "smoke",
       .recipe = "quickstart",
       .differences = {{"steps", 60},
                       {"warmup_steps", 10},
                       {"checkpoint_every", 20},
                       {"validate_every", 20},
                       {"validation_rows", 0}},
       .world = {.documents = 2000,
                 .vocab_size = 512,
                 .benchmarks = {.hellaswag_items = 60, .mmlu_items = 64, .gsm8k_items = 10}},
       .limit = 0,
       .seeds = 1,
       .needs_data = false},
      {.name = "world",
       .recipe = "quickstart",
       .differences = {{"checkpoint_every", 1000},
                       {"keep_checkpoints", 1},
                       {"validate_every", 500},
                       {"validate_final_steps", 400},
                       {"validate_final_every", 100},
                       {"validation_rows", 0},
                       {"sample_tokens", 0}},
       .world = {},
       .limit = 0,
       .seeds = 5,
       .needs_data = false},
      {.name = "small",
       .recipe = "small_cpu",
       .differences = {{"steps", 620},
                       {"checkpoint_every", 200},
                       {"keep_checkpoints", 1},
                       {"validate_every", 100},
                       {"validate_final_steps", 200},
                       {"validate_final_every", 40},
                       {"validation_rows", 0},
                       {"sample_tokens", 0}},
       .world = {.documents = 100'000, .vocab_size = 4096},
       .limit = 0,
       .seeds = 5,
       .needs_data = false},
      {.name = "paper",
       .recipe = "paper",
       .differences = {{"validate_final_steps", 200}, {"validate_final_every", 20}, {"validation_rows", 0}},
       .world = {},
       .limit = 0,
       .seeds = 3,
       .needs_data = true},
  };
}

std::string run_name(const std::string& variant, std::int64_t seed) {
  return fmt::format("{}_{}", variant, seed);
}

train::JobRequest job_of(const ReproduceOptions& options, const Corpus& corpus, const std::string& variant,
                         std::int64_t seed) {
  train::JobRequest job{.given = options.recipe,
                        .run = options.out / run_name(variant, seed),
                        .data = corpus.data,
                        .init_from = {},
                        .validate_also = corpus.validate_also,
                        .program = options.program};
  job.given.update(options.scale.differences);
  job.given["variant"] = variant;
  job.given["seed"] = seed;
  if (options.jobs > 0) job.given["threads"] = 1;
  return job;
}

std::vector<Experiment> experiments_of(const ReproduceOptions& options, const Corpus& corpus,
                                       const std::vector<PlannedRun>& runs) {
  std::vector<Experiment> experiments;
  for (const PlannedRun& planned : runs) {
    Experiment experiment{.job = job_of(options, corpus, planned.variant, planned.seed),
                          .benchmarks = corpus.benchmarks,
                          .limit = options.scale.limit,
                          .launcher = options.launcher};
    if (options.jobs > 0) {
      if (experiment.launcher.command.empty()) experiment.launcher.command = "env";
      experiment.launcher.log = options.out / (run_name(planned.variant, planned.seed) + ".log");
    }
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

report::Section claims_section(const std::vector<Claim>& claims) {
  report::Table table{.columns = {kClaimColumns.begin(), kClaimColumns.end()},
                      .rows = {},
                      .caption = "The paper's claims, judged by the rules of docs/claims.md"};
  for (const Claim& claim : claims) table.rows.push_back(claim_cells(claim));
  return {.id = "claims", .title = "Claims", .blocks = {table}};
}

}  // namespace

Scale scale_by_name(const std::string& name) {
  std::vector<std::string> names;
  for (Scale& scale : all_scales()) {
    if (name == scale.name) return scale;
    names.emplace_back(scale.name);
  }
  throw UsageError(fmt::format("unknown scale '{}'", name), suggest(name, names));
}

// Variants take turns, so that a study that is stopped early has something of each.
std::vector<PlannedRun> planned_runs(const ReproduceOptions& options) {
  std::vector<PlannedRun> runs;
  std::vector<std::string> names;
  for (std::int64_t seed = 0; seed < options.seeds; ++seed) {
    for (const model::VariantTraits& row : model::kVariants) {
      const std::string variant(row.name), name = run_name(variant, seed);
      names.push_back(name);
      if (!options.only.empty() && options.only != name) continue;
      const fs::path run = options.out / name;
      runs.push_back({variant, seed, run, is_finished_run(run)});
    }
  }
  if (runs.empty()) {
    throw UsageError(
        fmt::format("--only {}: no such run among seeds 0 to {} of the six variants", options.only, options.seeds - 1),
        suggest(options.only, names) + "; --seeds N plans more seeds");
  }
  return runs;
}

Corpus study_corpus(const ReproduceOptions& options, Log& log) {
  if (options.corpus.data.empty() && options.scale.needs_data) {
    throw UsageError(fmt::format("the scale '{}' needs data of its own", options.scale.name),
                     "give --data DIR with FineWeb-Edu shards (crope data prepare makes them from its parquet files)");
  }
  return make_corpus(options.out, options.corpus, log);
}

Plan plan_study(const ReproduceOptions& options, const Corpus& corpus, Log& log) {
  Plan plan{.runs = planned_runs(options), .tokens_per_second = 0, .seconds = 0};
  train::JobRequest probe = job_of(options, corpus, "rope", 0);
  probe.run = options.out / ".probe";  // never made: a dry run leaves nothing
  const train::DryRun measured = train::dry_run(train::resolve_job(probe), log);
  plan.tokens_per_second = measured.tokens_per_second;
  const auto at_once = static_cast<double>(std::max<std::int64_t>(1, options.jobs));
  for (const PlannedRun& run : plan.runs) {
    if (!run.is_done) plan.seconds += measured.total_seconds / at_once;
  }
  return plan;
}

Plan plan_study(const ReproduceOptions& options, Log& log) {
  if (is_corpus_made(options.out, options.corpus)) return plan_study(options, study_corpus(options, log), log);
  const ScratchFolder scratch("crope_plan");
  log.info("measuring on data in a temporary folder; the study will make its own");
  ReproduceOptions elsewhere = options;
  elsewhere.out = scratch.path();
  return plan_study(options, study_corpus(elsewhere, log), log);
}

std::optional<ReproduceResult> reproduce(const ReproduceOptions& options, const Corpus& corpus, Log& log) {
  const std::vector<Experiment> experiments = experiments_of(options, corpus, planned_runs(options));
  if (!run_experiments(experiments, options.jobs, log)) return {};
  ReproduceOptions whole = options;
  whole.only.clear();
  ReproduceResult result;
  std::vector<fs::path> runs;
  for (const PlannedRun& planned : planned_runs(whole)) {
    if (!planned.is_done) continue;
    const auto tasks = corpus.benchmarks.empty() ? std::vector<std::string>() : experiments.front().tasks;
    result.outcomes.push_back(read_outcome(planned.run, tasks));
    runs.push_back(planned.run);
  }
  const Study study = read_study(options.out);
  for (const std::string& warning : study.warnings) log.warn(warning);
  result.claims = judge_claims(study);
  write_json(options.out / "claims.json", claims_to_json(result.claims));
  result.page = write_report(runs, options.out / "report",
                             {.title = fmt::format("The paper's study, scale {}", options.scale.name),
                              .first_sections = {claims_section(result.claims)}},
                             log);
  return result;
}

}  // namespace crope::study
