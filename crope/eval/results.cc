#include "crope/eval/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "crope/base/sha256.h"
#include "crope/eval/python_text.h"
#include "crope/eval/task_table.h"

namespace crope::eval {
namespace {

// lm_eval's groups are of version 2, which it writes as a string; versions of tasks are numbers.
constexpr const char* kGroupVersion = "2";
constexpr const char* kNoError = "N/A";

void add_metric(Json& entry, const Metric& metric) {
  entry[metric.key.value_key()] = metric.value;
  entry[metric.key.error_key()] = metric.standard_error ? Json(*metric.standard_error) : Json(kNoError);
}

std::optional<double> number_of(const Json& entry, const std::string& key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

Json task_entry(const Task& task, const TaskOutcome& outcome) {
  Json entry = {{"name", task.name}, {"alias", task.alias}, {"sample_len", task.items.size()}};
  for (const Metric& metric : outcome.metrics) add_metric(entry, metric);
  return entry;
}

// The tasks below a group. Empty if any is missing from the results.
std::vector<std::string> leaves_of(const Json& document, const std::string& group) {
  std::vector<std::string> leaves;
  for (const std::string child : document.at("group_subtasks").at(group)) {
    const bool is_group = document["group_subtasks"].contains(child);
    if (!is_group && !document["results"].contains(child)) return {};
    const std::vector<std::string> below = is_group ? leaves_of(document, child) : std::vector{child};
    if (below.empty()) return {};
    leaves.insert(leaves.end(), below.begin(), below.end());
  }
  return leaves;
}

// The mean over all items of `leaves`. Nothing if they differ in the number of examples or lack the metric.
std::optional<Metric> metric_of_leaves(const Json& document, const std::vector<std::string>& leaves,
                                       std::int64_t& items) {
  std::vector<Member> members;
  for (const std::string& leaf : leaves) {
    const MetricKey key = require_task(leaf).headlines.front();
    const Json& entry = document["results"][leaf];
    const auto value = number_of(entry, key.value_key());
    if (!value || document["n-shot"][leaf] != document["n-shot"][leaves.front()]) return {};
    members.push_back({{key, *value, number_of(entry, key.error_key())}, entry.at("sample_len").get<std::int64_t>()});
    items += members.back().items;
  }
  return members.empty() ? std::nullopt : std::optional(group_metric(members));
}

Json task_config(const Task& task) {
  Json config = task.config;
  config["num_fewshot"] = task.num_fewshot;
  config["output_type"] = output_type_name(task.kind);
  config["target_delimiter"] = kTargetDelimiter;
  config["fewshot_delimiter"] = "\n\n";
  config["metric_list"] = Json::array();
  for (const MetricId metric : task.metrics) config["metric_list"].push_back({{"metric", metric_name(metric)}});
  config["metadata"] = {{"version", task.version}};
  return config;
}

Json higher_is_better(const Task& task) {
  Json entry = Json::object();
  for (const MetricId metric : task.metrics) entry[metric_name(metric)] = is_higher_better(metric);
  return entry;
}

// "models/a b" to "models__a_b".
std::string sanitized(const std::string& name) {
  std::string out;
  for (const char c : replace_all(name, "/", "__")) {
    const bool kept =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
    out += kept ? c : '_';
  }
  return out;
}

void add_facts(Json& document, const RunFacts& facts) {
  document["config"] = {{"model", "crope"},
                        {"model_args", "pretrained=" + facts.model},
                        {"model_num_parameters", facts.parameters},
                        {"model_dtype", "torch.float32"},
                        {"batch_tokens", facts.batch_tokens},
                        {"device", facts.device},
                        {"limit", facts.limit > 0 ? Json(facts.limit) : Json(nullptr)},
                        {"add_bos_token", facts.add_bos},
                        {"random_seed", 0},
                        {"numpy_seed", 1234},
                        {"torch_seed", 1234},
                        {"fewshot_seed", 1234}};
  document["git_hash"] = nullptr;
  document["date"] = facts.start_time;
  document["program"] = facts.program;
  const auto named = [](const NamedToken& token) { return Json{token.text, std::to_string(token.id)}; };
  document["tokenizer_eos_token"] = named(facts.end_token);
  document["tokenizer_bos_token"] = named(facts.begin_token);
  document["eot_token_id"] = facts.end_token.id;
  document["max_length"] = facts.max_length;
  document["model_source"] = "crope";
  document["model_name"] = facts.model;
  document["model_fingerprint"] = facts.fingerprint;
  document["model_name_sanitized"] = sanitized(facts.model);
  document["model_loading_seconds"] = facts.loading_seconds;
  document["total_evaluation_time_seconds"] = float_text(facts.seconds);
}

std::string python_bool(bool value) {
  return value ? "True" : "False";
}

bool is_correct(std::span<const ItemResult> results, const MetricKey& headline) {
  for (const ItemResult& result : results) {
    for (const ItemMetric& metric : result.metrics) {
      if (MetricKey{metric.metric, result.filter} == headline) return metric.value == 1;
    }
  }
  return false;
}

// The requests of an item, as lm_eval's files show them.
Json arguments(const Task& task, const Item& item) {
  Json all = Json::object();
  const auto add = [&](Json entry) { all[fmt::format("gen_args_{}", all.size())] = std::move(entry); };
  switch (task.kind) {
    case TaskKind::multiple_choice:
    case TaskKind::last_word:
      for (const TextPair& pair : text_pairs(task.kind, item)) {
        add({{"arg_0", pair.context}, {"arg_1", pair.continuation}});
      }
      break;
    case TaskKind::generation:
      add({{"arg_0", item.context}, {"arg_1", task.config["generation_kwargs"]}});
      break;
    case TaskKind::rolling_likelihood:
      add({{"arg_0", item.context}});
      break;
  }
  return all;
}

// One entry for each request.
Json responses(const Task& task, const Response& response, const std::string& generated) {
  Json all = Json::array();
  switch (task.kind) {
    case TaskKind::multiple_choice:
    case TaskKind::last_word:
      for (std::size_t i = 0; i < response.log_likelihoods.size(); ++i) {
        all.push_back({float_text(response.log_likelihoods[i]), python_bool(response.is_greedy[i])});
      }
      break;
    case TaskKind::generation:
      all.push_back(generated);
      break;
    case TaskKind::rolling_likelihood:
      all.push_back(float_text(response.log_likelihoods.at(0)));
      break;
  }
  return all;
}

Json sample(const Task& task, std::size_t index, const TaskOutcome& outcome, const ItemResult& result) {
  const Item& item = task.items[index];
  const Response& response = outcome.responses[index];
  Json line = {{"doc_id", index}, {"doc", item.doc}, {"target", item.target}, {"arguments", arguments(task, item)}};
  line["resps"] = Json::array();
  for (Json& each : responses(task, response, response.text)) line["resps"].push_back(Json::array({std::move(each)}));
  line["filtered_resps"] = responses(task, response, result.filtered_text);
  line["filter"] = filter_name(result.filter);
  line["metrics"] = Json::array();
  for (const ItemMetric& metric : result.metrics) line["metrics"].push_back(metric_name(metric.metric));
  line["doc_hash"] = sha256_hex(item.doc.dump(2));
  line["prompt_hash"] = sha256_hex(line["arguments"]["gen_args_0"]["arg_0"].get_ref<const std::string&>());
  line["target_hash"] = sha256_hex(item.target);
  const bool weighted = task.kind == TaskKind::rolling_likelihood;
  for (const ItemMetric& metric : result.metrics) {
    line[metric_name(metric.metric)] =
        weighted ? Json::array({metric.value, static_cast<std::int64_t>(metric.weight)}) : Json(metric.value);
  }
  return line;
}

}  // namespace

TaskOutcome make_outcome(const Task& task, std::vector<Response> responses) {
  TaskOutcome outcome{.responses = std::move(responses)};
  for (std::size_t i = 0; i < task.items.size(); ++i) {
    outcome.results.push_back(item_results(task, task.items[i], outcome.responses[i]));
  }
  outcome.metrics = task_metrics(outcome.results);
  return outcome;
}

Json results_document(const TaskList& list, std::span<const TaskOutcome> outcomes, const RunFacts& facts) {
  Json document;
  for (const char* key : kTaskObjects) document[key] = Json::object();
  for (std::size_t t = 0; t < list.tasks.size(); ++t) {
    const Task& task = list.tasks[t];
    document["results"][task.name] = task_entry(task, outcomes[t]);
    document["configs"][task.name] = task_config(task);
    document["versions"][task.name] = task.version;
    document["n-shot"][task.name] = task.num_fewshot;
    document["higher_is_better"][task.name] = higher_is_better(task);
    document["n-samples"][task.name] = {{"original", task.document_count}, {"effective", task.items.size()}};
  }
  for (const TaskGroup& group : list.groups) {
    document["results"][group.name] = {{"alias", group.alias}, {"name", group.name}};
    document["group_subtasks"][group.name] = group.children;
    document["versions"][group.name] = kGroupVersion;
  }
  update_groups(document);
  add_facts(document, facts);
  return document;
}

void update_groups(Json& document) {
  document["groups"] = Json::object();
  std::vector<std::string> groups;
  for (const auto& [name, children] : document["group_subtasks"].items()) groups.push_back(name);
  for (const std::string& group : groups) {
    if (find_task(group) == nullptr) {  // written by lm_eval itself
      document["groups"][group] = document["results"][group];
      continue;
    }
    const std::vector<std::string> leaves = leaves_of(document, group);
    std::int64_t items = 0;
    const std::optional<Metric> metric = metric_of_leaves(document, leaves, items);
    if (!metric) {
      for (const char* key : kTaskObjects) document[key].erase(group);
      continue;
    }
    Json& entry = document["results"][group];
    entry["sample_len"] = items;
    add_metric(entry, *metric);
    entry["sample_count"] = {{metric->key.value_key(), items}};
    document["groups"][group] = entry;
    document["n-shot"][group] = document["n-shot"][leaves.front()];
    document["higher_is_better"][group] = document["higher_is_better"][leaves.front()];
  }
  if (document["groups"].empty()) document.erase("groups");
}

std::string sample_lines(const Task& task, const TaskOutcome& outcome) {
  std::string lines;
  for (std::size_t f = 0; f < outcome.results.front().size(); ++f) {
    for (std::size_t i = 0; i < task.items.size(); ++i) {
      lines += sample(task, i, outcome, outcome.results[i][f]).dump() + "\n";
    }
  }
  return lines;
}

std::vector<Json> item_rows(const TaskList& list, std::span<const TaskOutcome> outcomes) {
  std::vector<Json> rows;
  for (std::size_t t = 0; t < list.tasks.size(); ++t) {
    const Task& task = list.tasks[t];
    if (!task.headline) continue;
    std::string correct;
    for (const std::vector<ItemResult>& results : outcomes[t].results) {
      correct += is_correct(results, *task.headline) ? '1' : '0';
    }
    rows.push_back({{"task", task.name}, {"metric", metric_name(task.headline->metric)}, {"correct", correct}});
  }
  return rows;
}

std::vector<Headline> headlines(const Json& results, const std::string& name) {
  const Json* entry = &results;
  for (const std::string& part : {std::string("results"), name}) {
    const auto found = entry->find(part);
    if (found == entry->end()) return {};
    entry = &*found;
  }
  std::vector<Headline> lines;
  for (const MetricKey& key : require_task(name).headlines) {
    const auto value = number_of(*entry, key.value_key());
    if (!value) continue;
    lines.push_back({.task = name,
                     .metric = key.filter == Filter::none ? metric_name(key.metric) : filter_name(key.filter),
                     .value = *value,
                     .standard_error = number_of(*entry, key.error_key()),
                     .items = entry->value("sample_len", std::int64_t{0})});
  }
  return lines;
}

}  // namespace crope::eval
