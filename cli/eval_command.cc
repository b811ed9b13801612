// crope eval: benchmarks, with lm_eval's semantics.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/generation_flags.h"
#include "cli/rank_flags.h"
#include "cli/version.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/base/threads.h"
#include "crope/eval/evaluation.h"
#include "crope/eval/results.h"
#include "crope/eval/task_list.h"
#include "crope/eval/task_table.h"
#include "crope/run/run_dir.h"

namespace crope::cli {
namespace {

struct EvalFlags {
  eval::EvaluationOptions options;
  std::string model, tasks, data, out, weights, engine = "auto";
  std::vector<std::string> texts;
  RankFlags ranks{.timeout = 3600};  // ranks meet only at the end
  int threads = 0;
  bool json = false;
};

// Perplexities of untrained models are long numbers.
std::string number_text(double value) {
  return value < 1e6 ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

void print_table(const Json& results, const std::vector<std::string>& tasks) {
  fmt::print("{:<36}{:<18}{:>12}{:>12}{:>9}\n", "task", "metric", "value", "stderr", "items");
  for (const std::string& task : tasks) {
    for (const eval::Headline& line : eval::headlines(results, task)) {
      const std::string error = line.standard_error ? "± " + number_text(*line.standard_error) : "-";
      fmt::print("{:<36}{:<18}{:>12}{:>12}{:>9}\n", line.task, line.metric, number_text(line.value), error, line.items);
    }
  }
}

// A run directory keeps its results in itself.
std::filesystem::path default_out(const std::filesystem::path& model) {
  if (std::filesystem::exists(model / run::kRecordFile)) return model;
  throw UsageError(
      fmt::format("--out is missing: {} is not a run directory, which would hold its own results", model.string()),
      "crope eval --help");
}

void run(EvalFlags flags) {
  const dist::Launch launch = dist::read_launch();
  Log log(log_stream(launch));
  const bool shares_machine = launch.size > 1 && flags.threads == 0;
  const int threads = shares_machine ? dist::threads_per_rank(launch) : resolve_thread_count(flags.threads);
  at::set_num_threads(threads);
  eval::EvaluationOptions& options = flags.options;
  options.model = flags.model;
  options.weights = weight_type_of(flags.weights);
  options.engine = Choice<infer::ScoreEngine>::by_name(flags.engine, "--engine");
  options.tasks = eval::parse_task_names(flags.tasks);
  options.data = flags.data;
  options.texts.assign(flags.texts.begin(), flags.texts.end());
  const bool needs_data = std::ranges::any_of(options.tasks, [&](const std::string& name) {
    const bool has_texts =
        eval::require_task(name).kind == eval::TaskKind::rolling_likelihood && !options.texts.empty();
    return !has_texts;
  });
  if (flags.data.empty() && needs_data) {
    throw UsageError("--data is missing: the folder of the benchmark files", "crope eval --help");
  }
  options.out = flags.out.empty() ? default_out(options.model) : std::filesystem::path(flags.out);
  options.program = version_line();
  const InterruptScope interruptible;
  // Results are gathered from the CPU, wherever the model is.
  const auto group = join_ranks(launch, flags.ranks, "cpu", threads, log);
  const Json results = eval::evaluate(options, log, group);
  if (!group->is_first()) return;
  if (flags.json) {
    fmt::print("{}\n", results.dump());
    return;
  }
  print_table(results, options.tasks);
  log.info(fmt::format("written: {}", (options.out / run::kResultsFile).string()));
}

void declare_eval(Flags& flags) {
  const auto values = std::make_shared<EvalFlags>();
  eval::EvaluationOptions& options = values->options;
  flags.positional("dir", values->model, "A model or run directory, with its tokenizer.json");
  flags.option("--tasks", values->tasks,
               fmt::format("Names separated by commas: {}; also groups and subjects such as mmlu_stem or mmlu_anatomy",
                           eval::task_names()));
  flags.require("--tasks");
  flags.option("--data", values->data,
               "Folder with one folder per task, named like it, or with the published files themselves");
  flags.option("--text", values->texts,
               "Text file for perplexity, instead of those in the data folder; may be repeated");
  flags.option("--out", values->out,
               "Folder for results.json, which keeps other tasks' results (default for a run directory: itself)");
  flags.option("--num-fewshot", options.num_fewshot, "Worked examples before each question");
  flags.option("--limit", options.limit, "Score only the first N items of each task (0: all)");
  flags.option("--overwrite", options.overwrite, "Let a result on fewer items (--limit) replace one on more");
  flags.option("--log-samples", options.log_samples, "Write each item to samples_<task>.jsonl");
  flags.option("--add-bos", options.add_bos, "Put the prefix token (bos, else eos) before each prompt");
  flags.option("--weights", values->weights, kWeightsHelp);
  flags.option("--device", options.device, "auto (cuda if there is one), cpu, cuda or cuda:N");
  flags.option("--engine", values->engine,
               "auto, cached (shared beginnings once, CPU only) or torch (the model's forward pass, any device)");
  flags.option("--batch-tokens", options.batch_tokens, "Tokens scored in one pass over the weights");
  flags.option("--batch-sequences", options.batch_sequences, "Number of texts generated at once");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  declare_rank_flags(flags, values->ranks);
  flags.option("--json", values->json, "Print this evaluation's results as in results.json, instead of the table");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kEvalCommand = {"eval", "Score a model on benchmarks as lm_eval does",
                              "crope eval out/run --tasks hellaswag,mmlu,gsm8k --data data/eval --out out/eval",
                              declare_eval};

}  // namespace crope::cli
