#include "crope/train/train_state.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/base/memory.h"
#include "crope/data/data_dir.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"
#include "crope/train/run_dir.h"
#include "crope/train/starting_model.h"

namespace crope::train {
namespace fs = std::filesystem;
namespace {

using torch::Tensor;

constexpr int kVersion = 1;
constexpr const char* kStateFile = "train_state.json";
constexpr const char* kTensorsFile = "train_state.safetensors";
constexpr std::array kHashedFiles = {"config.json", "model.safetensors", kTensorsFile};

std::string file_hash(const fs::path& path) {
  return hash_text(content_hash(MappedFile::open(path)->bytes()));
}

std::uint64_t checkpoint_bytes(const model::Transformer& model, const Optimizer& optimizer) {
  std::uint64_t bytes = 0;
  for (const model::Parameter& parameter : model.parameters) bytes += parameter.value.nbytes();
  for (const NamedState& state : optimizer.state()) bytes += state.value.nbytes();
  return bytes;
}

Json best_to_json(const std::optional<BestValidation>& best) {
  if (!best) return nullptr;
  return {{"step", best->step}, {"val_loss", best->val_loss}};
}

void write_files(const fs::path& dir, const model::Transformer& model, const Optimizer& optimizer,
                 const TrainProgress& progress, const fs::path& tokenizer) {
  model::save_model_files(model, dir);
  if (!tokenizer.empty()) write_file(dir / data::kTokenizerFile, read_file(tokenizer));
  std::vector<formats::TensorSource> sources;
  for (NamedState& state : optimizer.state()) {
    sources.push_back(model::tensor_source(std::move(state.name), std::move(state.value)));
  }
  formats::write_safetensors(dir / kTensorsFile, std::move(sources));
  Json hashes = Json::object();
  for (const char* name : kHashedFiles) hashes[name] = file_hash(dir / name);
  write_json(dir / kStateFile, {{"version", kVersion},
                                {"step", progress.step},
                                {"tokens", progress.tokens},
                                {"elapsed_s", progress.elapsed_s},
                                {"optimizer_steps", optimizer.steps()},
                                {"loader", data::to_json(progress.loader)},
                                {"best", best_to_json(progress.best)},
                                {"hashes", std::move(hashes)}});
}

// train_state.json, whose hashes are those of the files beside it.
Json read_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kStateFile;
  Json state = read_json(path);
  try {
    if (state.at("version") != kVersion) {
      throw Error(fmt::format("{}: version {}, expected {}", path.string(), state["version"].dump(), kVersion),
                  "it was written by another version of this program");
    }
    for (const char* name : kHashedFiles) {
      if (file_hash(checkpoint / name) != state.at("hashes").at(name).get<std::string>()) {
        throw Error(fmt::format("{} is damaged: it is not what was written", (checkpoint / name).string()));
      }
    }
  } catch (const Json::exception& e) {
    throw Error(fmt::format("{}: {}", path.string(), e.what()));
  }
  return state;
}

}  // namespace

void save_checkpoint(const fs::path& run, const model::Transformer& model, const Optimizer& optimizer,
                     const TrainProgress& progress, const fs::path& tokenizer) {
  const fs::path path = checkpoint_path(run, progress.step);
  try {
    std::error_code ignored;
    fs::remove_all(path, ignored);  // from before the run went back to an older one
    AtomicDirectory directory(path);
    write_files(directory.working_path(), model, optimizer, progress, tokenizer);
    directory.commit();
  } catch (const Error& e) {
    std::error_code code;
    const fs::space_info space = fs::space(run, code);
    throw Error(fmt::format("the checkpoint of step {} was not written ({}); it needs {}, {} are free", progress.step,
                            e.what(), format_bytes(static_cast<double>(checkpoint_bytes(model, optimizer))),
                            code ? "an unknown number" : format_bytes(static_cast<double>(space.available))),
                "make room and run the same command: it goes on from the last good checkpoint");
  }
}

LoadedCheckpoint load_checkpoint(const fs::path& checkpoint, Log& log, const torch::TensorOptions& options) {
  const Json state = read_state(checkpoint);
  const std::string origin = (checkpoint / kStateFile).string();
  TrainProgress progress;
  try {
    progress.step = state.at("step").get<std::int64_t>();
    progress.tokens = state.at("tokens").get<std::uint64_t>();
    progress.elapsed_s = state.at("elapsed_s").get<double>();
    progress.loader = data::loader_state_from_json(state.at("loader"), origin);
    if (const Json& best = state.at("best"); !best.is_null()) {
      progress.best = {best.at("step").get<std::int64_t>(), best.at("val_loss").get<double>()};
    }
  } catch (const Json::exception& e) {
    throw Error(fmt::format("{}: {}", origin, e.what()));
  }
  return {.model = owned_copy(model::load_model(checkpoint, log, options)), .progress = progress};
}

void load_optimizer_state(const fs::path& checkpoint, Optimizer& optimizer) {
  const auto file = formats::SafetensorsFile::open(checkpoint / kTensorsFile);
  const std::vector<NamedState> state = optimizer.state();
  if (file.tensors().size() != state.size()) {
    throw Error(fmt::format("{}: {} tensors, expected {}", file.path().string(), file.tensors().size(), state.size()),
                "the optimiser's options have changed");
  }
  for (const NamedState& each : state) {
    const Tensor saved = model::view_tensor(file, each.name);
    if (saved.sizes() != each.value.sizes()) {
      throw Error(fmt::format("{}: tensor '{}' has another shape than its parameter", file.path().string(), each.name));
    }
    Tensor(each.value).copy_(saved);
  }
  optimizer.set_steps(read_json(checkpoint / kStateFile).at("optimizer_steps").get<std::int64_t>());
}

}  // namespace crope::train
