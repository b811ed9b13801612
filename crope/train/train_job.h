// Resolves what is trained: defaults, settings, the data's vocabulary, a model to start from, and
// the record (run.json) of a run that is to be resumed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/data/data_dir.h"
#include "crope/dist/launch.h"
#include "crope/train/train_config.h"

namespace crope::train {

// A text beside the data's own validation part on which a run is validated at its last step.
struct OtherText {
  std::string name;  // "wiki": its loss is val_loss_wiki
  std::filesystem::path data;
};

// "NAME=DIR" to an OtherText. Throws UsageError unless NAME consists of letters, digits and underscores.
OtherText parse_other_text(const std::string& argument);

struct JobRequest {
  Settings given;                      // by flags; what is missing comes from the recipe, the run or the defaults
  std::filesystem::path run;           // where the run is, or is to be
  std::filesystem::path data;          // may be empty for a run that exists
  std::filesystem::path init_from;     // a model to start from; may be empty
  std::filesystem::path teacher = {};  // a model to learn from; may be empty
  std::vector<OtherText> validate_also = {};  // empty: as an existing run recorded them
  Json program = Json::object();     // version, LibTorch, instruction set, command: put into run.json as they are
  dist::Launch launch = {};          // which of how many ranks this process is
  Settings recipe = Json::object();  // yields to `given`, and its model's shape to init_from's
};

struct TrainJob {
  model::ModelConfig model;
  TrainConfig config;  // nothing in it is left to be chosen
  std::filesystem::path run;
  std::filesystem::path data;
  std::filesystem::path init_from;
  std::filesystem::path teacher;
  std::vector<OtherText> validate_also;
  Json program;
  int ranks = 1;
};

// Throws UsageError for impossible settings, and Error if a run of other settings is there (naming each that differs),
// if the vocabulary does not hold the data's tokens, if the model to start from, the teacher or another text has
// another tokenizer, or if the teacher has another vocabulary or is too short for the rows.
TrainJob resolve_job(const JobRequest& request);

// The request that repeats, in the folder `into`, the run that run.json in `run` records: settings, data, texts and
// starting model are the same.
JobRequest recorded_request(const std::filesystem::path& run, const std::filesystem::path& into);

// Writes run.json. `data` is what TrainJob::data holds.
void write_run_record(const TrainJob& job, const data::DataDir& data);

// Throws Error if run.json was written for other data than this, for other texts of the same names, or for a teacher
// with other weights.
void check_recorded_data(const TrainJob& job, const data::DataDir& data);

}  // namespace crope::train
