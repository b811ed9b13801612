#include "crope/train/train_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "crope/base/error.h"
#include "crope/base/rounding.h"
#include "crope/base/threads.h"
#include "crope/dist/rank_device.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"
#include "crope/model/rope_scaling.h"
#include "crope/run/run_dir.h"
#include "crope/text/tokenizer.h"
#include "crope/train/micro_batch.h"
#include "crope/train/teacher.h"

namespace crope::train {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kVocabularyMultiple = 64;  // odd sizes are slow to multiply by

struct RunRecord {
  Settings settings;
  Json model;
  fs::path data;
  std::string data_fingerprint;
  fs::path init_from;
  Json teacher;        // path and fingerprint, or null
  Json validate_also;  // name to path and fingerprint
  Json program;        // that the run began with
  int ranks;           // of the process that trained it last
};

RunRecord read_record(const fs::path& run) {
  const fs::path path = run / run::kRecordFile;
  const Json json = read_json(path);
  try {
    RunRecord record{.settings = {},
                     .model = json.at("model"),
                     .data = json.at("data").at("path").get<std::string>(),
                     .data_fingerprint = json.at("data").at("fingerprint").get<std::string>(),
                     .init_from = json.at("init_from").get<std::string>(),
                     .teacher = json.value("teacher", Json()),
                     .validate_also = json.value("validate_also", Json::object()),
                     .program = json,
                     .ranks = json.value("ranks", 1)};
    for (const char* ours :
         {"model", "parameters", "train", "data", "validate_also", "init_from", "teacher", "ranks"}) {
      record.program.erase(ours);
    }
    record.settings = settings_of(model::config_from_json(record.model, path.string()), TrainConfig{});
    record.settings.update(json.at("train"));
    return record;
  } catch (const Json::exception& e) {
    throw Error(fmt::format("{}: {}", path.string(), e.what()), "it was not written by this program, or is damaged");
  }
}

// A path as run.json holds it: relative to the run when it lies below the run's parent folder, so that a study can be
// moved as a whole; absolute otherwise.
fs::path for_record(const fs::path& run, const fs::path& path) {
  const fs::path absolute = fs::absolute(path).lexically_normal();
  const fs::path parent = fs::absolute(run / "").lexically_normal().parent_path().parent_path();
  const fs::path below = absolute.lexically_relative(parent);
  const bool is_below = !below.empty() && *below.begin() != ".." && below != ".";
  return is_below ? ".." / below : absolute;
}

fs::path from_record(const fs::path& run, const fs::path& path) {
  return path.is_relative() ? (run / path).lexically_normal() : path;
}

fs::path recorded_teacher(const fs::path& run, const RunRecord& record) {
  return record.teacher.is_object() ? from_record(run, record.teacher.value("path", "")) : fs::path();
}

std::vector<OtherText> recorded_texts(const fs::path& run, const RunRecord& record) {
  std::vector<OtherText> texts;
  for (const auto& [name, text] : record.validate_also.items()) {
    texts.push_back({name, from_record(run, text.value("path", ""))});
  }
  return texts;
}

void throw_if_conflicts(const std::vector<std::string>& conflicts, const std::string& what, const std::string& hint) {
  if (conflicts.empty()) return;
  throw Error(fmt::format("{} has another configuration: {}", what, fmt::join(conflicts, "; ")), hint);
}

// Those of `given` that are fields of a model.
Settings model_settings(const Settings& given) {
  Settings chosen = Json::object();
  const model::ModelConfig any;
  model::visit_fields(any, [&](const char* name, const auto&, const char*) {
    if (given.contains(name)) chosen[name] = given[name];
  });
  for (const char* name : {"variant", model::kRopeScalingKey}) {
    if (given.contains(name)) chosen[name] = given[name];
  }
  return chosen;
}

// The recipe with what was given in place of its values.
Settings all_settings(const JobRequest& request) {
  Settings settings = request.recipe;
  settings.update(request.given);
  return settings;
}

// The row length of a run that starts from a model: that of the model's own training where it is known, if the model
// still takes it.
std::int64_t inherited_seq_len(const fs::path& init_from, const model::ModelConfig& start) {
  const std::int64_t fallback = std::min(TrainConfig{}.seq_len, start.max_seq_len);
  if (!run::holds_run(init_from)) return fallback;
  return std::min(read_record(init_from).settings.value("seq_len", fallback), start.max_seq_len);
}

void check_conjugates(const TrainJob& job) {
  if (job.config.conjugate_steps == 0 || job.model.conjugate_scale) return;
  throw UsageError(fmt::format("conjugate_steps is {}, but the model to start from has no conjugate-linear parts",
                               job.config.conjugate_steps),
                   "make one with 'crope upcycle' (method annealed) and start from that");
}

void check_teacher_settings(const Settings& given, const TrainJob& job) {
  if (!job.teacher.empty()) {
    return check_teacher(job.teacher, {.model = job.model, .seq_len = job.config.seq_len, .init_from = job.init_from});
  }
  const Settings defaults = settings_of({}, {});
  for (const char* setting : {"teacher_weight", "temperature", "teacher_top_k"}) {
    if (!given.contains(setting) || given[setting] == defaults[setting]) continue;
    throw UsageError(fmt::format("{} is given without a teacher", setting), "give a teacher, or omit this setting");
  }
}

// The settings of a run that begins.
void resolve_new(const JobRequest& request, TrainJob& job) {
  const Settings given = all_settings(request);
  apply_settings(given, job.model, job.config, "settings");
  if (!request.init_from.empty()) {
    const fs::path dir = model::resolve_model_dir(request.init_from);
    const model::ModelConfig start = model::load_config(dir);
    if (!given.contains("seq_len")) job.config.seq_len = inherited_seq_len(request.init_from, start);
    throw_if_conflicts(conflicts(settings_of(start, job.config), model_settings(request.given)), dir.string(),
                       "omit the settings of the model's shape: the model to start from has one");
    job.model = start;
    check_conjugates(job);
    return;
  }
  check_conjugates(job);
  const data::DataDir data = data::open_data_dir(request.data);
  if (!given.contains("vocab_size") && data.info) {
    job.model.vocab_size = round_up(data.info->vocab_size, kVocabularyMultiple);
  }
  if (!given.contains("max_seq_len")) {
    job.model.max_seq_len = std::max(job.model.max_seq_len, job.config.seq_len);
  }
  job.model.other_keys["init"] = {{"seed", job.config.seed},
                                  {"embedding_std", job.config.embedding_std},
                                  {"projection_gain", job.config.projection_gain}};
}

// The settings of a resumed run: its own, except those that do not make it another run.
void resolve_existing(const JobRequest& request, const RunRecord& record, TrainJob& job) {
  const Settings given = all_settings(request);
  apply_settings(given, job.model, job.config, "settings");  // finds what is misspelt
  Settings expected = given;
  if (!record.init_from.empty()) {  // the shape came from that model, not from the recipe
    expected = Json::object();
    const Settings shape = model_settings(request.recipe);
    for (const auto& [name, value] : given.items()) {
      if (!shape.contains(name) || request.given.contains(name)) expected[name] = value;
    }
  }
  throw_if_conflicts(conflicts(record.settings, expected), request.run.string(),
                     "use the run's own settings, or another run directory");
  job.model = model::config_from_json(record.model, (request.run / run::kRecordFile).string());
  job.config = TrainConfig{};
  apply_settings(record.settings, job.model, job.config, (request.run / run::kRecordFile).string());
  Settings runtime = expected;
  runtime.erase("precision");
  if (record.ranks != request.launch.size) job.config.threads = 0;  // a rank's share of the machine is another
  apply_settings(runtime, job.model, job.config, "settings");
  if (job.data.empty()) job.data = from_record(request.run, record.data);
  if (job.init_from.empty()) job.init_from = record.init_from;
  if (job.teacher.empty()) job.teacher = recorded_teacher(request.run, record);
  if (job.validate_also.empty()) job.validate_also = recorded_texts(request.run, record);
  job.program = record.program;
}

void check_lengths(const TrainJob& job) {
  if (job.config.seq_len <= job.model.max_seq_len) return;
  throw UsageError(fmt::format("seq_len is {}, but the model takes at most {} tokens (max_seq_len)", job.config.seq_len,
                               job.model.max_seq_len),
                   "use a smaller seq_len or a larger max_seq_len");
}

void check_tokenizers(const TrainJob& job, const data::DataDir& data) {
  if (!data.info) return;
  if (data.info->vocab_size > job.model.vocab_size) {
    throw Error(fmt::format("{}: its tokenizer has {} tokens, but the model's vocab_size is {}", job.data.string(),
                            data.info->vocab_size, job.model.vocab_size),
                fmt::format("set vocab_size to {} or more, or omit it", data.info->vocab_size));
  }
  const auto check = [&](const fs::path& dir, const char* what) {
    if (!fs::exists(dir / text::kTokenizerFile)) return;
    if (text::Tokenizer::load(dir).fingerprint() == data.info->tokenizer_fingerprint) return;
    throw Error(fmt::format("{}: the shards were made with another tokenizer than {} ({})", job.data.string(), what,
                            (dir / text::kTokenizerFile).string()),
                "prepare the data again with that tokenizer ('crope data prepare')");
  };
  check(job.data, "the one beside them");
  if (!job.teacher.empty()) check(model::resolve_model_dir(job.teacher), "that of the teacher");
  if (job.init_from.empty() || !fs::exists(job.init_from)) return;
  const fs::path start = model::resolve_model_dir(job.init_from);
  check(start, "that of the model");
  const std::int64_t tokens = data.info->vocab_size;
  const bool is_same_size =
      tokens == job.model.vocab_size || round_up(tokens, kVocabularyMultiple) == job.model.vocab_size;
  if (fs::exists(start / text::kTokenizerFile) || is_same_size) return;
  throw Error(fmt::format("{}: its tokenizer has {} tokens; the model {} has no tokenizer and vocab_size {}",
                          job.data.string(), tokens, start.string(), job.model.vocab_size),
              "prepare the data with the model's own tokenizer, and copy that tokenizer.json into the model's folder");
}

void check_other_texts(const TrainJob& job, const data::DataDir& data) {
  if (job.config.validate_every == 0) return;  // nothing reads them
  std::set<std::string> names;
  for (const OtherText& text : job.validate_also) {
    if (!names.insert(text.name).second) {
      throw UsageError(fmt::format("validate_also: the name '{}' is given twice", text.name));
    }
    const data::DataDir other = data::open_data_dir(text.data);
    if (!other.info || !data.info || other.info->tokenizer_fingerprint == data.info->tokenizer_fingerprint) continue;
    throw Error(fmt::format("validate_also {}: {} was prepared with another tokenizer than {}", text.name,
                            text.data.string(), job.data.string()),
                fmt::format("prepare it again with the tokenizer of {} ('crope data prepare')", job.data.string()));
  }
}

}  // namespace

OtherText parse_other_text(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (equals == std::string::npos || !is_name || equals + 1 == argument.size()) {
    throw UsageError(fmt::format("validate_also: expected NAME=DIR, got '{}'", argument),
                     "NAME consists of letters, digits and underscores, such as wiki=data/wiki");
  }
  return {name, argument.substr(equals + 1)};
}

TrainJob resolve_job(const JobRequest& request) {
  TrainJob job{.model = {},
               .config = {},
               .run = request.run,
               .data = request.data,
               .init_from = request.init_from,
               .teacher = request.teacher,
               .validate_also = request.validate_also,
               .program = request.program,
               .ranks = request.launch.size};
  const bool exists = fs::exists(request.run / run::kRecordFile);
  if (exists) {
    resolve_existing(request, read_record(request.run), job);
  } else {
    if (request.data.empty())
      throw UsageError(fmt::format("no run in {}, and no data for a new one", request.run.string()),
                       "give a data directory ('crope data prepare' makes one)");
    resolve_new(request, job);
  }
  validate(job.config);
  model::validate(job.model);
  check_lengths(job);
  // A run may remember texts and still be resumed without validation; to ask for both is a mistake.
  if (!request.validate_also.empty() && job.config.validate_every == 0) {
    throw UsageError("validate_also needs validation, and validate_every = 0 turns it off",
                     "to validate at the end only, set validate_every to the number of steps");
  }
  const data::DataDir data = data::open_data_dir(job.data);
  check_teacher_settings(request.given, job);
  check_tokenizers(job, data);
  check_other_texts(job, data);

  const dist::Launch& launch = request.launch;
  if (launch.size > 1 && job.config.threads == 0) job.config.threads = dist::threads_per_rank(launch);
  job.config.device = dist::rank_device(job.config.device, launch).str();
  job.config.precision = resolve_precision(job.config.precision, job.config.device);
  job.config.threads = resolve_thread_count(static_cast<int>(std::min<std::int64_t>(job.config.threads, INT32_MAX)));
  if (job.config.micro_batch_size == 0) job.config.micro_batch_size = choose_micro_batch(job);
  job.config.micro_batch_size = std::clamp<std::int64_t>(job.config.micro_batch_size, 1, job.config.batch_size);
  return job;
}

JobRequest recorded_request(const fs::path& run, const fs::path& into) {
  const RunRecord record = read_record(run);
  return {.given = record.settings,
          .run = into,
          .data = from_record(run, record.data),
          .init_from = record.init_from,
          .teacher = recorded_teacher(run, record),
          .validate_also = recorded_texts(run, record),
          .program = record.program};
}

void write_run_record(const TrainJob& job, const data::DataDir& data) {
  Json record = job.program;
  model::ModelConfig model = job.model;
  if (job.config.conjugate_steps > 0) model.conjugate_scale.reset();  // the record describes the model that remains
  record["model"] = model::config_to_json(model);
  const model::ParameterCounts counts = model::count_parameters(model);
  record["parameters"] = {{"embedding", counts.embedding},
                          {"attention", counts.attention},
                          {"feed_forward", counts.feed_forward},
                          {"norm", counts.norm},
                          {"total", counts.total()}};
  Json train = Json::object();
  visit_train_fields(job.config,
                     [&](const char* name, const auto& value, FieldKind, const char*) { train[name] = value; });
  record["train"] = std::move(train);
  record["data"] = {{"path", for_record(job.run, job.data).string()},
                    {"fingerprint", data::content_fingerprint(data)},
                    {"tokenizer_fingerprint", data.info ? Json(data.info->tokenizer_fingerprint) : Json(nullptr)},
                    {"train_tokens", data.info ? Json(data.info->train.tokens) : Json(nullptr)},
                    {"val_tokens", data.info ? Json(data.info->val.tokens) : Json(nullptr)}};
  if (!job.validate_also.empty()) record["validate_also"] = Json::object();
  for (const OtherText& text : job.validate_also) {
    record["validate_also"][text.name] = {{"path", for_record(job.run, text.data).string()},
                                          {"fingerprint", data::content_fingerprint(data::open_data_dir(text.data))}};
  }
  record["init_from"] = job.init_from.string();
  if (!job.teacher.empty()) {
    record["teacher"] = {{"path", for_record(job.run, job.teacher).string()},
                         {"fingerprint", teacher_fingerprint(job.teacher)}};
  }
  record["ranks"] = job.ranks;
  write_json(job.run / run::kRecordFile, record);
}

void check_recorded_data(const TrainJob& job, const data::DataDir& data) {
  const RunRecord record = read_record(job.run);
  for (const OtherText& text : job.validate_also) {
    if (!record.validate_also.contains(text.name)) continue;
    const std::string now = data::content_fingerprint(data::open_data_dir(text.data));
    if (record.validate_also[text.name].value("fingerprint", now) == now) continue;
    throw Error(
        fmt::format("validate_also {}: {} holds another text than the run started with", text.name, text.data.string()),
        "give the folder that it started with, or another name");
  }
  const Json teacher = record.teacher.is_object() ? record.teacher.value("fingerprint", Json()) : Json();
  if (teacher != (job.teacher.empty() ? Json() : Json(teacher_fingerprint(job.teacher)))) {
    throw Error(fmt::format("teacher {}: the run started with {}", job.teacher.string(),
                            record.teacher.is_object() ? "another teacher" : "no teacher"),
                "give the teacher that it started with, or another run directory");
  }
  const std::string found = data::content_fingerprint(data);
  if (found == record.data_fingerprint) return;
  throw Error(fmt::format("{}: the run started on other data ({}, fingerprint {}) than this (fingerprint {})",
                          job.run.string(), record.data.string(), record.data_fingerprint, found),
              "give the data that it started with; to train on other data, start a new run from this run's weights");
}

}  // namespace crope::train
