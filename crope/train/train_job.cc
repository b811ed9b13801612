#include "crope/train/train_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/rounding.h"
#include "crope/base/threads.h"
#include "crope/model/model_dir.h"
#include "crope/text/tokenizer.h"
#include "crope/train/run_dir.h"

namespace crope::train {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kVocabularyMultiple = 64;  // odd sizes are slow to multiply by
constexpr std::int64_t kMicroBatchTokens = 2048;  // enough for full speed; more only takes memory

struct RunRecord {
  Settings settings;
  Json model;
  fs::path data;
  std::string data_fingerprint;
  fs::path init_from;
  Json program;  // that the run began with
  int ranks;     // of the process that trained it last
};

RunRecord read_record(const fs::path& run) {
  const fs::path path = run / kRunFile;
  const Json json = read_json(path);
  try {
    RunRecord record{.settings = {},
                     .model = json.at("model"),
                     .data = json.at("data").at("path").get<std::string>(),
                     .data_fingerprint = json.at("data").at("fingerprint").get<std::string>(),
                     .init_from = json.at("init_from").get<std::string>(),
                     .program = json,
                     .ranks = json.value("ranks", 1)};
    for (const char* ours : {"model", "train", "data", "init_from", "ranks"}) record.program.erase(ours);
    record.settings = settings_of(model::config_from_json(record.model, path.string()), TrainConfig{});
    record.settings.update(json.at("train"));
    return record;
  } catch (const Json::exception& e) {
    throw Error(fmt::format("{}: {}", path.string(), e.what()), "it was not written by this program, or is damaged");
  }
}

void throw_if_conflicts(const std::vector<std::string>& conflicts, const std::string& what, const std::string& hint) {
  if (conflicts.empty()) return;
  throw Error(fmt::format("{} has another configuration: {}", what, fmt::join(conflicts, "; ")), hint);
}

// Those of `given` that are fields of a model.
Settings model_settings(const Settings& given) {
  Settings chosen = Json::object();
  const model::ModelConfig any;
  model::visit_fields(any, [&](const char* name, const auto&) {
    if (given.contains(name)) chosen[name] = given[name];
  });
  if (given.contains("variant")) chosen["variant"] = given["variant"];
  return chosen;
}

// The settings of a run that begins.
void resolve_new(const JobRequest& request, TrainJob& job) {
  apply_settings(request.given, job.model, job.config, "settings");
  if (!request.init_from.empty()) {
    const fs::path dir = model::resolve_model_dir(request.init_from);
    const model::ModelConfig start = model::load_config(dir);
    throw_if_conflicts(conflicts(settings_of(start, job.config), model_settings(request.given)), dir.string(),
                       "leave out the flags of the model's shape: --init-from gives it");
    job.model = start;
    return;
  }
  const data::DataDir data = data::open_data_dir(request.data);
  if (!request.given.contains("vocab_size") && data.info) {
    job.model.vocab_size = round_up(data.info->vocab_size, kVocabularyMultiple);
  }
  if (!request.given.contains("max_seq_len")) {
    job.model.max_seq_len = std::max(job.model.max_seq_len, job.config.seq_len);
  }
  job.model.other_keys["init"] = {{"seed", job.config.seed},
                                  {"embedding_std", job.config.embedding_std},
                                  {"projection_gain", job.config.projection_gain}};
}

// The settings of a run that goes on: its own, but for those that do not make it another run.
void resolve_existing(const JobRequest& request, const RunRecord& record, TrainJob& job) {
  apply_settings(request.given, job.model, job.config, "settings");  // finds what is misspelt
  throw_if_conflicts(conflicts(record.settings, request.given), request.run.string(),
                     "use the run's own settings, or another --out");
  job.model = model::config_from_json(record.model, (request.run / kRunFile).string());
  job.config = TrainConfig{};
  apply_settings(record.settings, job.model, job.config, (request.run / kRunFile).string());
  Settings conduct = request.given;
  conduct.erase("precision");
  if (record.ranks != request.launch.size) job.config.threads = 0;  // a rank's share of the machine is another
  apply_settings(conduct, job.model, job.config, "settings");
  if (job.data.empty()) job.data = record.data;
  if (job.init_from.empty()) job.init_from = record.init_from;
  job.program = record.program;
}

void check_lengths(const TrainJob& job) {
  if (job.config.seq_len <= job.model.max_seq_len) return;
  throw UsageError(fmt::format("seq_len is {}, but the model takes at most {} tokens (max_seq_len)", job.config.seq_len,
                               job.model.max_seq_len),
                   "give a smaller --seq-len or a larger --max-seq-len");
}

void check_tokenizers(const TrainJob& job, const data::DataDir& data) {
  if (!data.info) return;
  if (data.info->vocab_size > job.model.vocab_size) {
    throw Error(fmt::format("{}: its tokenizer has {} tokens, but the model's vocab_size is {}", job.data.string(),
                            data.info->vocab_size, job.model.vocab_size),
                fmt::format("give --vocab-size {} or more, or leave it out", data.info->vocab_size));
  }
  const auto check = [&](const fs::path& dir, const char* what) {
    if (!fs::exists(dir / data::kTokenizerFile)) return;
    if (text::Tokenizer::load(dir).fingerprint() == data.info->tokenizer_fingerprint) return;
    throw Error(fmt::format("{}: the shards were made with another tokenizer than {} ({})", job.data.string(), what,
                            (dir / data::kTokenizerFile).string()),
                "prepare the data again with that tokenizer: crope data prepare SOURCE... --tokenizer FILE");
  };
  check(job.data, "the one beside them");
  if (!job.init_from.empty() && fs::exists(job.init_from)) {
    check(model::resolve_model_dir(job.init_from), "that of the model");
  }
}

}  // namespace

TrainJob resolve_job(const JobRequest& request) {
  TrainJob job{.model = {},
               .config = {},
               .run = request.run,
               .data = request.data,
               .init_from = request.init_from,
               .program = request.program,
               .ranks = request.launch.size};
  const bool exists = fs::exists(request.run / kRunFile);
  if (exists) {
    resolve_existing(request, read_record(request.run), job);
  } else {
    if (request.data.empty())
      throw UsageError("there is no run to go on with, and no data for a new one", "give --data DIR");
    resolve_new(request, job);
  }
  validate(job.config);
  model::validate(job.model);
  check_lengths(job);
  check_tokenizers(job, data::open_data_dir(job.data));

  const dist::Launch& launch = request.launch;
  if (launch.size > 1 && job.config.threads == 0) job.config.threads = dist::threads_per_rank(launch);
  if (launch.size > 1 && torch::Device(job.config.device).is_cuda()) {
    job.config.device = fmt::format("cuda:{}", launch.local_rank);
  }
  job.config.precision = resolve_precision(job.config.precision, job.config.device);
  job.config.threads = resolve_thread_count(static_cast<int>(std::min<std::int64_t>(job.config.threads, INT32_MAX)));
  if (job.config.micro_batch_size == 0) job.config.micro_batch_size = kMicroBatchTokens / job.config.seq_len;
  job.config.micro_batch_size = std::clamp<std::int64_t>(job.config.micro_batch_size, 1, job.config.batch_size);
  return job;
}

void write_run_record(const TrainJob& job, const data::DataDir& data) {
  Json record = job.program;
  record["model"] = model::config_to_json(job.model);
  Json train = Json::object();
  visit_train_fields(job.config,
                     [&](const char* name, const auto& value, FieldKind, const char*) { train[name] = value; });
  record["train"] = std::move(train);
  record["data"] = {{"path", fs::absolute(job.data).lexically_normal().string()},
                    {"fingerprint", data::content_fingerprint(data)},
                    {"tokenizer_fingerprint", data.info ? Json(data.info->tokenizer_fingerprint) : Json(nullptr)},
                    {"train_tokens", data.info ? Json(data.info->train.tokens) : Json(nullptr)},
                    {"val_tokens", data.info ? Json(data.info->val.tokens) : Json(nullptr)}};
  record["init_from"] = job.init_from.string();
  record["ranks"] = job.ranks;
  write_json(job.run / kRunFile, record);
}

void check_recorded_data(const TrainJob& job, const data::DataDir& data) {
  const RunRecord record = read_record(job.run);
  const std::string found = data::content_fingerprint(data);
  if (found == record.data_fingerprint) return;
  throw Error(fmt::format("{}: the run was begun on other data ({}, fingerprint {}) than this (fingerprint {})",
                          job.run.string(), record.data.string(), record.data_fingerprint, found),
              "give --data the folder that it was begun with; to train on other data, start a run with --init-from");
}

}  // namespace crope::train
