#include "crope/eval/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "crope/base/sha256.h"
#include "crope/eval/python_text.h"

namespace crope::eval {
namespace {

// lm_eval's groups are of version 2, which it writes as a string; versions of tasks are numbers.
constexpr const char* kGroupVersion = "2";
constexpr const char* kNoError = "N/A";
constexpr std::string_view kPerplexity = "perplexity";

void add_metric(Json& entry, const Metric& metric) {
  entry[fmt::format("{},{}", metric.name, metric.filter)] = metric.value;
  Json& error = entry[fmt::format("{}_stderr,{}", metric.name, metric.filter)];
  if (metric.standard_error) {
    error = *metric.standard_error;
  } else {
    error = kNoError;
  }
}

Json task_entry(const Task& task, const TaskOutcome& outcome) {
  Json entry = {{"name", task.name}, {"alias", task.alias}, {"sample_len", task.items.size()}};
  for (const Metric& metric : outcome.metrics) add_metric(entry, metric);
  return entry;
}

Json group_entry(const TaskGroup& group, const TaskList& list, std::span<const TaskOutcome> outcomes) {
  std::int64_t items = 0;
  std::vector<Member> members;
  for (const std::size_t t : group.tasks) {
    members.push_back({outcomes[t].metrics.front(), static_cast<std::int64_t>(list.tasks[t].items.size())});
    items += members.back().items;
  }
  const Metric metric = group_metric(members);
  Json entry = {{"alias", group.alias}, {"name", group.name}, {"sample_len", items}};
  add_metric(entry, metric);
  entry["sample_count"] = {{fmt::format("{},{}", metric.name, metric.filter), items}};
  return entry;
}

Json task_config(const Task& task) {
  Json config = task.config;
  config["num_fewshot"] = task.num_fewshot;
  config["output_type"] = output_type_name(task.output_type);
  config["target_delimiter"] = kTargetDelimiter;
  config["fewshot_delimiter"] = "\n\n";
  config["metric_list"] = Json::array();
  for (const std::string& name : task.metrics) config["metric_list"].push_back({{"metric", name}});
  config["metadata"] = {{"version", task.version}};
  return config;
}

Json higher_is_better(const TaskOutcome& outcome) {
  Json entry = Json::object();
  for (const Metric& metric : outcome.metrics) entry[metric.name] = metric.higher_is_better;
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
                        {"device", "cpu"},
                        {"limit", facts.limit > 0 ? Json(facts.limit) : Json(nullptr)},
                        {"add_bos_token", facts.add_bos},
                        {"random_seed", 0},
                        {"numpy_seed", 1234},
                        {"torch_seed", 1234},
                        {"fewshot_seed", 1234}};
  document["git_hash"] = nullptr;
  document["date"] = facts.start_time;
  document["program"] = facts.program;
  const Json end_token = {"<|endoftext|>", std::to_string(facts.end_of_text)};
  document["tokenizer_eos_token"] = end_token;
  document["tokenizer_bos_token"] = end_token;
  document["eot_token_id"] = facts.end_of_text;
  document["max_length"] = facts.max_length;
  document["model_source"] = "crope";
  document["model_name"] = facts.model;
  document["model_name_sanitized"] = sanitized(facts.model);
  document["model_loading_seconds"] = facts.loading_seconds;
  document["total_evaluation_time_seconds"] = float_text(facts.seconds);
}

std::string python_bool(bool value) {
  return value ? "True" : "False";
}

bool is_correct(std::span<const ItemResult> results, const HeadlineMetric& headline) {
  for (const ItemResult& result : results) {
    if (result.filter != headline.filter) continue;
    for (const ItemMetric& metric : result.metrics) {
      if (metric.name == headline.name) return metric.value == 1;
    }
  }
  return false;
}

// The requests of an item, as lm_eval's files show them.
Json arguments(const Task& task, const Item& item) {
  Json all = Json::object();
  const auto add = [&](Json entry) { all[fmt::format("gen_args_{}", all.size())] = std::move(entry); };
  switch (task.output_type) {
    case OutputType::multiple_choice:
      for (const std::string& choice : item.choices)
        add({{"arg_0", item.context}, {"arg_1", kTargetDelimiter + choice}});
      break;
    case OutputType::generate_until:
      add({{"arg_0", item.context}, {"arg_1", task.config["generation_kwargs"]}});
      break;
    case OutputType::loglikelihood_rolling:
      add({{"arg_0", item.context}});
      break;
  }
  return all;
}

// One entry for each request.
Json responses(const Task& task, const Response& response, const std::string& generated) {
  Json all = Json::array();
  switch (task.output_type) {
    case OutputType::multiple_choice:
      for (std::size_t i = 0; i < response.log_likelihoods.size(); ++i) {
        all.push_back({float_text(response.log_likelihoods[i]), python_bool(response.is_greedy[i])});
      }
      break;
    case OutputType::generate_until:
      all.push_back(generated);
      break;
    case OutputType::loglikelihood_rolling:
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
  line["filter"] = result.filter;
  line["metrics"] = Json::array();
  for (const ItemMetric& metric : result.metrics) line["metrics"].push_back(metric.name);
  line["doc_hash"] = sha256_hex(item.doc.dump(2));
  line["prompt_hash"] = sha256_hex(item.context);
  line["target_hash"] = sha256_hex(item.target);
  const bool weighted = task.output_type == OutputType::loglikelihood_rolling;
  for (const ItemMetric& metric : result.metrics) {
    line[metric.name] =
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
  for (const char* key :
       {"results", "groups", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples"}) {
    document[key] = Json::object();
  }
  for (std::size_t t = 0; t < list.tasks.size(); ++t) {
    const Task& task = list.tasks[t];
    document["results"][task.name] = task_entry(task, outcomes[t]);
    document["configs"][task.name] = task_config(task);
    document["versions"][task.name] = task.version;
    document["n-shot"][task.name] = task.num_fewshot;
    document["higher_is_better"][task.name] = higher_is_better(outcomes[t]);
    document["n-samples"][task.name] = {{"original", task.document_count}, {"effective", task.items.size()}};
  }
  for (const TaskGroup& group : list.groups) {
    const Json entry = group_entry(group, list, outcomes);
    document["results"][group.name] = entry;
    document["groups"][group.name] = entry;
    document["group_subtasks"][group.name] = group.children;
    document["versions"][group.name] = kGroupVersion;
    document["n-shot"][group.name] = list.tasks[group.tasks.front()].num_fewshot;
    document["higher_is_better"][group.name] = higher_is_better(outcomes[group.tasks.front()]);
  }
  if (list.groups.empty()) document.erase("groups");
  add_facts(document, facts);
  return document;
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

HeadlineMetric headline_metric(std::string_view task) {
  if (task == "hellaswag") return {"acc_norm", "none"};
  if (task == "gsm8k") return {"exact_match", "flexible-extract"};
  return {"acc", "none"};
}

std::string item_lines(const TaskList& list, std::span<const TaskOutcome> outcomes) {
  std::string lines;
  for (std::size_t t = 0; t < list.tasks.size(); ++t) {
    const std::string& name = list.tasks[t].name;
    if (name == kPerplexity) continue;
    const HeadlineMetric headline = headline_metric(name);
    std::string correct;
    for (const std::vector<ItemResult>& results : outcomes[t].results) {
      correct += is_correct(results, headline) ? '1' : '0';
    }
    lines += Json({{"task", name}, {"metric", headline.name}, {"correct", correct}}).dump() + "\n";
  }
  return lines;
}

std::vector<Headline> headlines(const Json& results, std::span<const std::string> names) {
  std::vector<Headline> lines;
  for (const std::string& name : names) {
    const Json& entry = results.at("results").at(name);
    const auto add = [&](const char* metric, const char* filter) {
      const Json& error = entry.at(fmt::format("{}_stderr,{}", metric, filter));
      const bool is_filtered = std::string_view(filter) != "none";
      lines.push_back({.task = name,
                       .metric = is_filtered ? filter : metric,
                       .value = entry.at(fmt::format("{},{}", metric, filter)).get<double>(),
                       .standard_error = error.is_number() ? std::optional(error.get<double>()) : std::nullopt,
                       .items = entry.at("sample_len").get<std::int64_t>()});
    };
    if (name == kPerplexity) {
      for (const char* metric : {"word_perplexity", "byte_perplexity", "bits_per_byte"}) add(metric, "none");
    } else {
      const HeadlineMetric metric = headline_metric(name);
      add(metric.name, metric.filter);
    }
  }
  return lines;
}

}  // namespace crope::eval
