#include "crope/study/reproduce.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/nearest_name.h"
#include "crope/base/progress.h"
#include "crope/model/variant.h"
#include "crope/study/run_report.h"
#include "crope/train/dry_run.h"
#include "crope/train/run_dir.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

std::vector<Scale> all_scales() {
  return {
      {.name = "smoke",
       .recipe = "quickstart",
       .differences = {{"steps", 60}, {"warmup_steps", 10}, {"checkpoint_every", 20}, {"validate_every", 20}},
       .world = {.documents = 2000,
                 .vocab_size = 512,
                 .benchmarks = {.hellaswag_items = 60, .mmlu_items = 64, .gsm8k_items = 10}},
       .limit = 0,
       .needs_data = false},
      {.name = "small",
       .recipe = "small_cpu",
       .differences = Json::object(),
       .world = {.documents = 100'000, .vocab_size = 4096},
       .limit = 0,
       .needs_data = false},
      {.name = "paper", .recipe = "paper", .differences = Json::object(), .world = {}, .limit = 0, .needs_data = true},
  };
}

struct Corpus {
  fs::path data;
  fs::path benchmarks;
};

Corpus find_corpus(const ReproduceOptions& options, Log& log) {
  if (!options.data.empty()) return {options.data, options.benchmarks};
  if (options.scale.needs_data) {
    throw UsageError(fmt::format("the scale '{}' needs data of its own", options.scale.name),
                     "give --data DIR with FineWeb-Edu shards (crope data prepare makes them from its parquet files)");
  }
  const SmallWorld world = make_small_world(options.out, options.scale.world, log);
  return {world.data, options.benchmarks.empty() ? world.benchmarks : options.benchmarks};
}

train::JobRequest job_of(const ReproduceOptions& options, const fs::path& data, const std::string& variant,
                         std::int64_t seed) {
  train::JobRequest job{.given = options.recipe,
                        .run = options.out / fmt::format("{}_{}", variant, seed),
                        .data = data,
                        .init_from = {},
                        .program = options.program};
  job.given.update(options.scale.differences);
  job.given["variant"] = variant;
  job.given["seed"] = seed;
  return job;
}

// Variants take turns, so that a study that is stopped early has something of each.
std::vector<PlannedRun> planned_runs(const ReproduceOptions& options) {
  std::vector<PlannedRun> runs;
  for (std::int64_t seed = 0; seed < options.seeds; ++seed) {
    for (const model::VariantTraits& row : model::kVariants) {
      const std::string variant(row.name);
      const fs::path run = options.out / fmt::format("{}_{}", variant, seed);
      runs.push_back({variant, seed, run, fs::exists(run / "results.json")});
    }
  }
  return runs;
}

report::Section claims_section(const std::vector<Claim>& claims) {
  report::Table table{.columns = {"claim", "the paper", "here", ""}, .rows = {}, .caption = "The paper's claims"};
  for (const Claim& claim : claims) {
    table.rows.push_back({claim.text, claim.paper, claim.ours, std::string(verdict_name(claim.verdict))});
  }
  return {.id = "claims", .title = "Claims", .blocks = {table}};
}

void write_claims(const fs::path& path, const std::vector<Claim>& claims) {
  Json rows = Json::array();
  for (const Claim& claim : claims) {
    rows.push_back({{"claim", claim.text},
                    {"paper", claim.paper},
                    {"ours", claim.ours},
                    {"verdict", verdict_name(claim.verdict)}});
  }
  write_json(path, rows);
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

Plan plan_study(const ReproduceOptions& options, Log& log) {
  if (options.seeds < 1) throw UsageError(fmt::format("--seeds is {}, expected 1 or more", options.seeds));
  const Corpus corpus = find_corpus(options, log);
  Plan plan{.runs = planned_runs(options), .tokens_per_second = 0, .seconds = 0};
  train::JobRequest probe = job_of(options, corpus.data, "rope", 0);
  probe.run = options.out / ".probe";  // never made: a dry run leaves nothing
  const train::DryRun measured = train::dry_run(train::resolve_job(probe), log);
  plan.tokens_per_second = measured.tokens_per_second;
  for (const PlannedRun& run : plan.runs) {
    if (!run.is_done) plan.seconds += measured.total_seconds;
  }
  return plan;
}

std::optional<ReproduceResult> reproduce(const ReproduceOptions& options, Log& log) {
  const Corpus corpus = find_corpus(options, log);
  ReproduceResult result;
  std::vector<fs::path> reported;
  for (const PlannedRun& planned : planned_runs(options)) {
    throw_if_interrupted();
    log.info(fmt::format("{}, seed {}: {}", planned.variant, planned.seed,
                         planned.is_done ? "there already" : "training and evaluation"));
    const Experiment experiment{.job = job_of(options, corpus.data, planned.variant, planned.seed),
                                .benchmarks = corpus.benchmarks,
                                .limit = options.scale.limit,
                                .launcher = options.launcher};
    const auto outcome = run_experiment(experiment, log);
    if (!outcome) return {};
    result.outcomes.push_back(*outcome);
    reported.push_back(outcome->run);
  }
  result.claims = judge_claims(result.outcomes);
  write_claims(options.out / "claims.json", result.claims);
  result.page = write_report(reported, options.out / "report",
                             {.title = fmt::format("The paper's study, scale {}", options.scale.name),
                              .first_sections = {claims_section(result.claims)}},
                             log);
  return result;
}

}  // namespace crope::study
