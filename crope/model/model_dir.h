// A model directory: config.json and model.safetensors (docs/formats.md).
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <optional>

#include "crope/base/log.h"
#include "crope/formats/safetensors.h"
#include "crope/model/parameter_file.h"
#include "crope/model/transformer.h"

namespace crope::model {

// The model directory at `path`: itself, or for a run directory its newest checkpoint
// at this moment. Throws Error if it is neither.
std::filesystem::path resolve_model_dir(const std::filesystem::path& path);

ModelConfig load_config(const std::filesystem::path& model_dir);

// The type of weights that a model directory's config.json records: what it was quantised to, fp32 otherwise.
ops::WeightType load_weight_type(const std::filesystem::path& model_dir);

// Loads a model directory or a run's newest checkpoint; quantised weights are widened. Tensors that are the same on
// disk and in memory are mapped; the others are copied one at a time. `options` gives type (fp32 unless set) and
// device. Throws Error naming file and tensor if one is missing, unknown, or of another shape than config.json says.
// Warns of values that are not finite. A signal ends it between two tensors (Interrupted).
Transformer load_model(const std::filesystem::path& path, Log& log, const torch::TensorOptions& options = {});

// Loads for inference alone, one tensor at a time: matrices rounded to `type`, int8 or int4, or as they are stored
// if there is none. Throws Error as load_model does, and if weights that are to be rounded are not finite.
Transformer load_quantised_model(const std::filesystem::path& path, Log& log, std::optional<ops::WeightType> type = {});

// The tensors of model.safetensors, in the order of the parameters; each is put into pairs when it is read.
std::vector<formats::TensorSource> weight_sources(const Transformer& model);

// Writes config.json and model.safetensors into the existing folder `dir`, each atomically, in the type of the
// parameters, which config.json records.
void save_model_files(const Transformer& model, const std::filesystem::path& dir);

// Creates the folder `dir`, which appears only when it is complete. Throws Error if it exists.
void save_model(const Transformer& model, const std::filesystem::path& dir);

}  // namespace crope::model
