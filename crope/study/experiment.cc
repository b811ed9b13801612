#include "crope/study/experiment.h"

#include <fmt/format.h>

#include "crope/base/interrupt.h"
#include "crope/eval/evaluation.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"
#include "crope/report/run_data.h"
#include "crope/train/trainer.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

constexpr const char* kResultsFile = "results.json";

// Whether the results are of the newest checkpoint and of these tasks.
bool is_evaluated(const Experiment& experiment) {
  const fs::path results = experiment.job.run / kResultsFile;
  if (!fs::exists(results)) return false;
  const fs::path checkpoint = model::resolve_model_dir(experiment.job.run);
  if (fs::last_write_time(results) < fs::last_write_time(checkpoint / "config.json")) return false;
  return eval::headlines(read_json(results), experiment.tasks).size() == experiment.tasks.size();
}

}  // namespace

std::optional<Outcome> run_experiment(const Experiment& experiment, Log& log) {
  const train::TrainJob job = train::resolve_job(experiment.job);
  if (!train::train(job, log).finished) return {};
  const bool evaluates = !experiment.benchmarks.empty();
  if (evaluates && !is_evaluated(experiment)) {
    eval::evaluate({.model = job.run,
                    .tasks = experiment.tasks,
                    .data = experiment.benchmarks,
                    .out = job.run,
                    .limit = experiment.limit,
                    .log_samples = true,
                    .program = experiment.job.program.value("version", "")},
                   log);
  }
  if (interrupt_requested()) return {};
  return read_outcome(job.run, evaluates ? experiment.tasks : std::vector<std::string>());
}

Outcome read_outcome(const fs::path& run, const std::vector<std::string>& tasks) {
  const report::RunData data = report::read_run(run);
  const model::ModelConfig config = model::load_config(model::resolve_model_dir(run));
  const model::ParameterCounts counts = model::count_parameters(config);
  Outcome outcome{.variant = std::string(model::traits(config.variant).name),
                  .run = run,
                  .parameters = counts.total(),
                  .attention_parameters = counts.attention,
                  .loss = report::final_train_loss(data),
                  .val_loss = report::final_val_loss(data),
                  .tokens_per_second = report::median_rate(data).value_or(0),
                  .seconds = data.elapsed_seconds,
                  .scores = {}};
  if (!tasks.empty()) outcome.scores = eval::headlines(data.results, tasks);
  return outcome;
}

}  // namespace crope::study
