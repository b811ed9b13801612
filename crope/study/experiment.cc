#include "crope/study/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/eval/evaluation.h"
#include "crope/eval/stored_results.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"
#include "crope/report/run_data.h"
#include "crope/run/run_dir.h"
#include "crope/train/trainer.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

// Whether the results are complete, belong to the newest checkpoint and have these tasks at the planned limit.
bool is_evaluated(const Experiment& experiment) {
  const fs::path results = experiment.job.run / run::kResultsFile;
  if (!fs::exists(results) || !fs::exists(experiment.job.run / run::kItemsFile)) return false;
  const fs::path checkpoint = model::resolve_model_dir(experiment.job.run);
  if (fs::last_write_time(results) < fs::last_write_time(checkpoint / "config.json")) return false;
  return eval::has_results(read_json(results), experiment.tasks, experiment.limit);
}

// The settings of a run as a recipe beside it, for those who are launched.
fs::path write_recipe(const Experiment& experiment) {
  fs::path path = experiment.job.run;
  path += ".recipe.json";
  make_folder(path.parent_path());
  write_json(path, experiment.job.given);
  return path;
}

// Whether the run has come to its last step.
bool train_launched(const Experiment& experiment) {
  const train::TrainJob job = train::resolve_job(experiment.job);
  if (run::has_reached(job.run, job.config.steps)) return true;
  std::vector<std::string> arguments = {
      "train", "--recipe", write_recipe(experiment).string(), "--data", job.data.string(), "--out", job.run.string()};
  for (const train::OtherText& text : job.validate_also) {
    arguments.insert(arguments.end(), {"--validate-also", text.name + "=" + text.data.string()});
  }
  run_launched(experiment.launcher, arguments);
  const bool is_trained = run::has_reached(job.run, job.config.steps);
  if (!is_trained && !interrupt_requested()) {
    throw Error(fmt::format("{} stopped before step {}", job.run.filename().string(), job.config.steps),
                fmt::format("its own message is {}; run the same command again to resume",
                            experiment.launcher.log.empty() ? "above" : "in " + experiment.launcher.log.string()));
  }
  return is_trained;
}

void evaluate_launched(const Experiment& experiment) {
  run_launched(experiment.launcher,
               {"eval", experiment.job.run.string(), "--tasks", fmt::format("{}", fmt::join(experiment.tasks, ",")),
                "--data", experiment.benchmarks.string(), "--out", experiment.job.run.string(), "--limit",
                std::to_string(experiment.limit), "--log-samples", "--threads",
                std::to_string(experiment.job.given.value("threads", 0))});
}

void evaluate_here(const Experiment& experiment, Log& log) {
  eval::evaluate({.model = experiment.job.run,
                  .tasks = experiment.tasks,
                  .data = experiment.benchmarks,
                  .out = experiment.job.run,
                  .limit = experiment.limit,
                  .log_samples = true,
                  .program = experiment.job.program.value("version", "")},
                 log);
}

}  // namespace

std::optional<Outcome> run_experiment(const Experiment& experiment, Log& log) {
  const bool is_launched = !experiment.launcher.command.empty();
  const bool is_trained =
      is_launched ? train_launched(experiment) : train::train(train::resolve_job(experiment.job), log).finished;
  if (!is_trained || interrupt_requested()) return {};
  const bool evaluates = !experiment.benchmarks.empty();
  if (evaluates && !is_evaluated(experiment)) {
    if (is_launched) {
      evaluate_launched(experiment);
    } else {
      evaluate_here(experiment, log);
    }
  }
  if (interrupt_requested()) return {};
  return read_outcome(experiment.job.run, evaluates ? experiment.tasks : std::vector<std::string>());
}

bool is_finished_run(const fs::path& run) {
  const auto steps = run::planned_steps(run::read_record(run));
  return steps && run::has_reached(run, *steps);
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
  for (const std::string& task : tasks) {
    const std::vector<eval::Headline> scores = eval::headlines(data.results, task);
    if (!scores.empty()) outcome.scores.push_back(scores.front());
  }
  return outcome;
}

}  // namespace crope::study
