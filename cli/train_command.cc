// crope train: a run from data to model, or on from where it was stopped.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/profile_table.h"
#include "cli/rank_flags.h"
#include "cli/train_flags.h"
#include "cli/version.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/base/memory.h"
#include "crope/base/progress.h"
#include "crope/base/stopwatch.h"
#include "crope/train/dry_run.h"
#include "crope/train/trainer.h"

namespace crope::cli {
namespace {

struct TrainCommandFlags {
  std::unique_ptr<TrainFlags> settings;
  RankFlags ranks;
  std::string data;
  std::string out;
  std::string init_from;
  std::string teacher;
  std::vector<std::string> validate_also;
  bool resume = false;
  bool dry_run = false;
  bool profile = false;
  bool json = false;
};

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void print_summary(const train::TrainJob& job, const train::TrainSummary& summary, bool as_json) {
  const auto& validation = summary.validation;
  if (as_json) {
    Json json = {{"run", job.run.string()},
                 {"variant", model::traits(job.model.variant).name},
                 {"step", summary.step},
                 {"finished", summary.finished},
                 {"parameters", summary.parameters},
                 {"tokens", summary.tokens},
                 {"loss", optional_number(summary.loss)},
                 {"val_loss", validation ? Json(validation->loss) : Json(nullptr)},
                 {"bits_per_byte", validation ? optional_number(validation->bits_per_byte) : Json(nullptr)},
                 {"tokens_per_second", summary.tokens_per_second},
                 {"elapsed_s", summary.elapsed_s},
                 {"peak_memory", summary.peak_memory},
                 {"ranks", job.ranks},
                 {"optimizer_bytes", summary.optimizer_bytes}};
    for (const auto& [name, loss] : summary.other_losses) json["val_loss_" + name] = loss;
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}: step {} of {}, {} parameters", model::traits(job.model.variant).name, summary.step,
             std::max(summary.step, job.config.steps), format_count(static_cast<double>(summary.parameters)));
  if (summary.loss) fmt::print(", last step's loss {:.4f}", *summary.loss);
  if (validation) fmt::print(", validation loss {:.4f}", validation->loss);
  if (summary.tokens_per_second > 0) fmt::print(", {} tokens/s", format_count(summary.tokens_per_second));
  fmt::print(", {} in all, {} of memory\n{}\n", format_duration(summary.elapsed_s),
             format_bytes(static_cast<double>(summary.peak_memory)), job.run.string());
}

void print_dry_run(const train::TrainJob& job, const train::DryRun& run, bool as_json) {
  if (as_json) {
    const Json json = {{"variant", model::traits(job.model.variant).name},
                       {"parameters", run.parameters},
                       {"memory", run.memory},
                       {"seconds_per_step", run.seconds_per_step},
                       {"optimizer_seconds", run.optimizer_seconds},
                       {"total_seconds", run.total_seconds},
                       {"validation_seconds", run.validation_seconds},
                       {"tokens_per_second", run.tokens_per_second},
                       {"gemm_share", run.gemm_share},
                       {"checkpoint_bytes", run.checkpoint_bytes}};
    fmt::print("{}\n", json.dump());
    return;
  }
  const auto row = [](const char* name, const std::string& value) { fmt::print("{:<22}{}\n", name, value); };
  row("variant", std::string(model::traits(job.model.variant).name));
  row("parameters", fmt::format("{}", run.parameters));
  row("memory", format_bytes(static_cast<double>(run.memory)));
  row("time per step",
      fmt::format("{:.3f} s ({:.3f} s of it in the optimiser)", run.seconds_per_step, run.optimizer_seconds));
  row("tokens per second", format_count(run.tokens_per_second));
  row("share of GEMM peak", fmt::format("{:.0f}% (forward and backward)", 100 * run.gemm_share));
  row("steps", fmt::format("{}", job.config.steps));
  row("total time", fmt::format("{} ({} of it validation)", format_duration(run.total_seconds),
                                format_duration(run.validation_seconds)));
  row("a checkpoint", format_bytes(static_cast<double>(run.checkpoint_bytes)));
}

// train(); with `wanted`, also prints a table of what took how long.
train::TrainSummary train_and_profile(const train::TrainJob& job, Log& log, const auto& group, bool wanted) {
  if (!wanted) return train::train(job, log, group);
  ops::Profile profile;
  const ops::ProfileScope scope(profile);
  const Stopwatch watch;
  train::TrainSummary summary = train::train(job, log, group);
  log.info("where the time went:\n" + profile_table(profile.rows(), watch.seconds(), /*peak=*/0));
  return summary;
}

void run_train(const TrainCommandFlags& flags) {
  const dist::Launch launch = dist::read_launch();
  Log log(log_stream(launch));
  const InterruptScope interrupt;
  std::vector<train::OtherText> validate_also;
  for (const std::string& argument : flags.validate_also) {
    validate_also.push_back(train::parse_other_text(argument));
  }
  const train::TrainJob job = train::resolve_job({.given = flags.settings->given(),
                                                  .run = flags.out,
                                                  .data = flags.data,
                                                  .init_from = flags.init_from,
                                                  .teacher = flags.teacher,
                                                  .validate_also = std::move(validate_also),
                                                  .program = program_record(),
                                                  .launch = launch,
                                                  .recipe = flags.settings->recipe()});
  if (flags.dry_run) {
    if (launch.size > 1) throw UsageError("--dry-run measures one process", "start it without torchrun or srun");
    print_dry_run(job, train::dry_run(job, log), flags.json);
    return;
  }
  // Nobody writes to the run before everybody has read it: joining waits for all.
  const auto group = join_ranks(launch, flags.ranks, job.config.device, job.config.threads, log);
  const train::TrainSummary summary = train_and_profile(job, log, group, flags.profile);
  if (group->is_first()) print_summary(job, summary, flags.json);
  if (!summary.finished) throw Interrupted("stopped by a signal; run the same command again to resume");
}

void declare_train(Flags& flags) {
  flags.group("Run");
  const auto values = std::make_shared<TrainCommandFlags>();
  flags.option("--data", values->data, "Data directory (crope data prepare); an existing run remembers its own");
  flags.option("--out", values->out, "Run directory, new or to be resumed");
  flags.require("--out");
  flags.option("--init-from", values->init_from, "Model or run directory whose weights the run starts from");
  flags.option("--teacher", values->teacher, "Model or run directory whose predictions the run also learns from");
  flags.option("--validate-also", values->validate_also,
               "NAME=DIR: also validate on another data directory at the last step, as val_loss_NAME; may be repeated");
  flags.option("--resume", values->resume, "Accepted for scripts: an existing run in --out is always resumed");
  flags.option("--dry-run", values->dry_run, "Measure a few steps, print what the run will take, and write nothing");
  flags.option("--profile", values->profile, "Print a table of where the time went to standard error at the end");
  flags.option("--json", values->json, "Print the result as one JSON object");
  values->settings = std::make_unique<TrainFlags>(flags);
  flags.group("Distributed");
  declare_rank_flags(flags, values->ranks);
  flags.run([values] { run_train(*values); });
}

}  // namespace

const Command kTrainCommand = {"train", "Train a model, or resume a stopped run",
                               "crope train --data data --out runs/crope_all --recipe small_cpu --variant crope_all",
                               declare_train};

}  // namespace crope::cli
