#include "crope/interop/model_card.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>

#include "crope/base/json.h"
#include "crope/base/progress.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"
#include "crope/run/metrics.h"
#include "crope/run/run_dir.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

struct CardSource {
  fs::path model;  // the model directory
  std::optional<fs::path> run;
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();  // of the exported checkpoint
};

CardSource find_card_source(const fs::path& given) {
  CardSource source{.model = model::resolve_model_dir(given)};
  const fs::path whole = fs::weakly_canonical(source.model);
  constexpr std::string_view kStep = "step_";
  const std::string name = whole.filename().string();
  if (whole.parent_path().filename() == run::kCheckpoints && name.starts_with(kStep)) {
    source.run = whole.parent_path().parent_path();
    source.last_step = std::strtoll(name.c_str() + kStep.size(), nullptr, 10);
  }
  return source;
}

void append_row(std::string& card, std::string_view name, const std::string& value) {
  card += fmt::format("| {} | {} |\n", name, value);
}

std::string plain_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? format_grouped(value.get<std::int64_t>()) : value.dump();
}

std::string model_section(const model::ModelConfig& config) {
  const model::ParameterCounts counts = model::count_parameters(config);
  std::string card = "## Model\n\n| | |\n|---|---|\n";
  append_row(card, "parameters", format_grouped(counts.total()));
  append_row(card, "in attention",
             fmt::format("{} ({:.1f}% fewer than dense)", format_grouped(counts.attention),
                         100 * model::attention_saving(config)));
  Json values = model::config_to_json(config);
  for (const auto& [key, value] : config.other_keys.items()) values.erase(key);
  for (const auto& [key, value] : values.items()) append_row(card, fmt::format("`{}`", key), plain_value(value));
  return card;
}

std::string training_section(const Json& record) {
  constexpr std::array<const char*, 12> kSettings = {"steps",     "batch_size", "seq_len",      "lr",
                                                     "min_lr",    "schedule",   "warmup_steps", "weight_decay",
                                                     "muon_tied", "muon_dense", "precision",    "seed"};
  std::string rows;
  const Json train = record.value("train", Json::object()), data = record.value("data", Json::object());
  for (const char* key : kSettings) {
    if (train.contains(key)) append_row(rows, fmt::format("`{}`", key), plain_value(train[key]));
  }
  for (const char* key : {"train_tokens", "val_tokens"}) {
    if (data.contains(key)) append_row(rows, fmt::format("`{}` of the data", key), plain_value(data[key]));
  }
  return rows.empty() ? rows : "\n## Training\n\nBy `crope train`.\n\n| | |\n|---|---|\n" + rows;
}

// The last value of each loss up to the exported step.
std::string loss_section(const fs::path& path, std::int64_t last_step) {
  std::map<std::string, std::pair<std::int64_t, double>> losses;
  for (const run::MetricsLine& line : run::read_metrics(path).lines) {
    if (line.step > last_step) continue;
    for (const char* name : {"loss", "val_loss"}) {
      if (const auto value = line.number(name)) losses[name] = {line.step, *value};
    }
    for (const auto& [name, value] : line.other_losses()) losses["val_loss_" + name] = {line.step, value};
  }
  std::string rows;
  for (const auto& [name, last] : losses) {
    if (std::isfinite(last.second)) rows += fmt::format("| `{}` | {:.4f} | {} |\n", name, last.second, last.first);
  }
  return rows.empty() ? rows : "\n## Losses\n\nNats per token.\n\n| | value | step |\n|---|---:|---:|\n" + rows;
}

// results.json has lm_eval's keys: "acc,none" and "acc_stderr,none".
std::string score_section(const Json& results) {
  const Json tasks = results.value("results", Json::object());
  std::string rows;
  for (const auto& [task, metrics] : tasks.items()) {
    if (!metrics.is_object()) continue;
    for (const auto& [key, value] : metrics.items()) {
      const std::size_t comma = key.find(',');
      const std::string name = key.substr(0, comma);
      if (comma == std::string::npos || name.ends_with("_stderr") || !value.is_number()) continue;
      const std::string filter = key.substr(comma + 1);
      const Json error = metrics.value(name + "_stderr," + filter, Json());
      rows += fmt::format("| {} | {}{} | {:.4f}{} |\n", task, name, filter == "none" ? "" : " (" + filter + ")",
                          value.get<double>(), error.is_number() ? fmt::format(" ± {:.4f}", error.get<double>()) : "");
    }
  }
  if (rows.empty()) return rows;
  return "\n## Scores\n\nBy `crope eval`, with lm_eval's prompts and metrics.\n\n| task | metric | value "
         "|\n|---|---|---:|\n" +
         rows;
}

std::string usage_section(CardKind kind) {
  const bool native = kind == CardKind::hf_native;
  return fmt::format(
      "\n## Use\n\n```python\nfrom transformers import AutoModelForCausalLM\n\n"
      "model = AutoModelForCausalLM.from_pretrained(\"this folder\"{})\n```\n\n{}\n",
      native ? ", trust_remote_code=True" : "",
      native
          ? "`modeling_crope.py` computes the model in transformers 5 or newer; weights keep the halves `a` and `b` of "
            "complex-linear projections. The folder is also a model directory of the program `crope`."
          : "The projections are expanded to dense matrices, so that every program that knows Qwen3 or Llama computes "
            "the "
            "same logits. `crope import` gives the variant back.");
}

}  // namespace

std::string model_card(const fs::path& model_dir, CardKind kind) {
  const CardSource source = find_card_source(model_dir);
  const model::ModelConfig config = model::load_config(source.model);
  const std::string_view variant = model::traits(config.variant).name;
  std::string card = fmt::format(
      "---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- crope\n---\n\n# {}, {} parameters\n\n"
      "A decoder of the paper *CRoPE: Efficient Parametrization of Rotary Positional Embedding*, variant `{}`, "
      "exported by `crope`.\n\n",
      variant, format_grouped(model::count_parameters(config).total()), variant);
  card += model_section(config);
  if (source.run) {
    if (const Json record = run::read_record(*source.run); record.is_object()) card += training_section(record);
    if (const fs::path path = *source.run / run::kMetricsFile; fs::exists(path)) {
      card += loss_section(path, source.last_step);
    }
  }
  // The run's scores are those of its newest checkpoint.
  const bool is_newest = source.run && !run::has_reached(*source.run, source.last_step + 1);
  const fs::path scores = (is_newest ? *source.run : source.model) / run::kResultsFile;
  if (fs::exists(scores)) card += score_section(read_json(scores));
  return card + usage_section(kind);
}

}  // namespace crope::interop
