#include "crope/eval/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/utf8.h"
#include "crope/dist/agreement.h"
#include "crope/dist/rank_device.h"
#include "crope/eval/dealt_items.h"
#include "crope/eval/journal.h"
#include "crope/eval/results.h"
#include "crope/eval/runner.h"
#include "crope/eval/stored_results.h"
#include "crope/eval/task_list.h"
#include "crope/eval/task_table.h"
#include "crope/model/language_model.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"
#include "crope/run/run_dir.h"

namespace crope::eval {
namespace fs = std::filesystem;
namespace {

constexpr const char* kJournalName = "eval_journal.jsonl";

void check_options(const EvaluationOptions& options) {
  const auto check = [](const char* flag, std::int64_t value, std::int64_t least) {
    if (value < least) throw UsageError(fmt::format("{} is {}, expected {} or more", flag, value, least));
  };
  check("num_fewshot", options.num_fewshot, 0);
  check("limit", options.limit, 0);
  check("batch_tokens", options.batch_tokens, 1);
  check("batch_sequences", options.batch_sequences, 1);
}

// Generation has an engine on the CPU alone, so "auto" is the CPU where a task generates.
std::string device_name(const EvaluationOptions& options) {
  const bool generates = std::ranges::any_of(
      options.tasks, [](const std::string& name) { return require_task(name).kind == TaskKind::generation; });
  return generates && options.device == "auto" ? "cpu" : options.device;
}

void refuse_generation_off_cpu(const TaskList& list, torch::Device device) {
  if (device.is_cpu()) return;
  for (const Task& task : list.tasks) {
    if (task.kind != TaskKind::generation) continue;
    throw UsageError(fmt::format("{}: texts are generated on the CPU alone, the device is {}", task.name, device.str()),
                     "evaluate this task on the device cpu");
  }
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void write_samples(const fs::path& out, const TaskList& list, const std::vector<TaskOutcome>& outcomes,
                   const std::set<std::string>& kept) {
  for (std::size_t t = 0; t < list.tasks.size(); ++t) {
    if (kept.contains(list.tasks[t].name)) continue;
    write_file(out / fmt::format("samples_{}.jsonl", list.tasks[t].name), sample_lines(list.tasks[t], outcomes[t]));
  }
}

}  // namespace

Json evaluate(const EvaluationOptions& options, Log& log, const std::shared_ptr<dist::ProcessGroup>& group) {
  check_options(options);
  RunFacts facts{.model = options.model.string(),
                 .batch_tokens = options.batch_tokens,
                 .limit = options.limit,
                 .add_bos = options.add_bos,
                 .start_time = unix_time(),
                 .program = options.program};
  const fs::path dir = model::resolve_model_dir(options.model);
  const torch::Device device = dist::rank_device(device_name(options), group->launch());
  const model::LanguageModel model = model::load_language_model(dir, log, options.weights, device);
  const text::Tokenizer& tokenizer = model.require_tokenizer();
  facts.loading_seconds = unix_time() - facts.start_time;
  facts.parameters = model::count_parameters(model.model.config).total();
  facts.max_length = model.window();
  facts.device = device.str();
  const std::optional<std::int32_t> end_token =
      model.end_tokens.empty() ? std::nullopt : std::optional(model.end_tokens.front());
  const auto named = [&](std::optional<std::int32_t> id) {
    if (!id) return NamedToken{};
    const std::string_view bytes = tokenizer.token_bytes(*id);
    const bool is_text = valid_utf8_prefix(bytes) == bytes.size();  // a token may be a part of a character
    return NamedToken{*id, is_text ? std::string(bytes) : std::string()};
  };
  facts.begin_token = named(model.prefix_token);
  facts.end_token = named(end_token);
  const TaskList list = load_tasks(options.tasks, options.data, options.texts,
                                   {.num_fewshot = options.num_fewshot, .limit = options.limit}, log);
  refuse_generation_off_cpu(list, device);
  const fs::path& out = options.out;
  make_folder(out);
  facts.fingerprint = model_fingerprint(dir);
  if (options.weights && *options.weights != model::load_weight_type(dir)) {
    facts.fingerprint += fmt::format(" {}", Choice(*options.weights).name());  // another model, by what it answers
  }
  std::optional<StoredResults> stored;
  std::set<std::string> kept;
  dist::run_on_all_ranks(*group, [&] {
    if (!group->is_first()) return;
    stored.emplace(out, ResultsIdentity{facts.model, facts.fingerprint, facts.add_bos}, log);
    kept = stored->kept_tasks(list, options.overwrite, log);
  });

  const RunnerOptions runner{.batch_tokens = options.batch_tokens,
                             .batch_sequences = options.batch_sequences,
                             .engine = options.engine,
                             .prefix = {model.prefix_token, options.add_bos ? Bos::added : Bos::absent},
                             .end_token = end_token,
                             .journal = out / kJournalName,
                             .model_name = facts.fingerprint};
  std::vector<std::vector<Response>> responses;
  dist::run_on_all_ranks(
      *group, [&] { responses = run_tasks(model.model, tokenizer, own_items(list.tasks, *group), runner, log); });
  responses = gather_responses(list.tasks, responses, *group);
  if (!group->is_first()) return nullptr;
  std::vector<TaskOutcome> outcomes;
  for (std::size_t t = 0; t < list.tasks.size(); ++t) {
    outcomes.push_back(make_outcome(list.tasks[t], std::move(responses[t])));
  }
  facts.seconds = unix_time() - facts.start_time;
  const Json document = results_document(list, outcomes, facts);
  if (options.log_samples) write_samples(out, list, outcomes, kept);
  write_file(out / run::kItemsFile, stored->merged_items(item_rows(list, outcomes), kept));
  // Last: when it is there, the other files are complete.
  write_json(out / run::kResultsFile, stored->merged(document, kept));
  fs::remove(runner.journal);
  return document;
}

}  // namespace crope::eval
