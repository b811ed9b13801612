#include "crope/train/train_state.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <memory>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/json_fields.h"
#include "crope/base/memory.h"
#include "crope/data/data_dir.h"
#include "crope/dist/agreement.h"
#include "crope/dist/deal.h"
#include "crope/formats/shared_safetensors.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"
#include "crope/run/checkpoint_removal.h"
#include "crope/run/run_dir.h"
#include "crope/text/tokenizer.h"
#include "crope/train/starting_model.h"

namespace crope::train {
namespace fs = std::filesystem;
namespace {

using torch::Tensor;

constexpr const char* kStateFile = "train_state.json";
constexpr const char* kTensorsFile = "train_state.safetensors";
constexpr std::array kHashedFiles = {model::kConfigFile, model::kWeightsFile, kTensorsFile};

// `between` as in content_hash().
std::string file_hash(const fs::path& path, const std::function<void()>& between = {}) {
  return hash_text(content_hash(MappedFile::open(path)->bytes(), 0, between));
}

std::uint64_t checkpoint_bytes(const model::Transformer& model, const Optimizer& optimizer) {
  std::uint64_t numbers = 0;
  for (const model::Parameter& parameter : model.parameters) numbers += parameter.value.numel();
  for (const StateShape& state : optimizer.whole_state()) numbers += c10::multiply_integers(state.shape);
  return numbers * sizeof(float);
}

// The files of a checkpoint that ranks write together.
struct SharedFiles {
  formats::SharedSafetensors weights;
  formats::SharedSafetensors state;
};

// Whether the state belongs to a parameter of the saved model: conjugate-linear parts that have faded out leave none.
bool is_saved(const std::string& state, const model::Transformer& model) {
  return model.config.conjugate_scale.has_value() || !model::is_conjugate(state);
}

std::vector<formats::TensorSource> state_sources(const Optimizer& optimizer, const model::Transformer& model) {
  std::vector<formats::TensorSource> sources;
  for (StateShape& state : optimizer.whole_state()) {
    if (!is_saved(state.name, model)) continue;
    sources.push_back({std::move(state.name), formats::ElementType::f32, std::move(state.shape), {}});
  }
  return sources;
}

// The weights are everybody's: large and small ones are dealt out.
void write_own_weights(const model::Transformer& model, formats::SharedSafetensors& file,
                       const dist::ProcessGroup& group) {
  const std::vector<formats::TensorSource> sources = model::weight_sources(model);
  std::vector<double> sizes;
  for (const formats::TensorSource& source : sources) sizes.push_back(static_cast<double>(formats::data_size(source)));
  const std::vector<int> writers = dist::deal(sizes, group.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (writers[i] != group.rank()) continue;
    std::uint64_t offset = 0;
    sources[i].produce([&](std::span<const std::byte> piece) {
      file.write(sources[i].name, offset, piece);
      offset += piece.size();
    });
  }
}

void write_own_state(const Optimizer& optimizer, const model::Transformer& model, formats::SharedSafetensors& file) {
  for (const NamedState& state : optimizer.state()) {
    if (!state.is_saved_here || state.value.numel() == 0 || !is_saved(state.name, model)) continue;
    const Tensor plain = state.value.detach().to(torch::kCPU).contiguous();
    const auto row_bytes = plain.nbytes() / static_cast<std::size_t>(plain.size(0));
    file.write(state.name, static_cast<std::uint64_t>(state.first_row) * row_bytes,
               {static_cast<const std::byte*>(plain.const_data_ptr()), plain.nbytes()});
  }
}

// What is the same on every rank: written by the first, when all parts are there.
void write_rest(const fs::path& dir, const Optimizer& optimizer, const TrainProgress& progress) {
  SavedState state{.progress = progress, .optimizer_steps = optimizer.steps()};
  for (const char* name : kHashedFiles) state.file_hashes[name] = file_hash(dir / name);
  write_json(dir / kStateFile, to_json(state));
}

void write_checkpoint(const fs::path& path, const model::Transformer& model, const Optimizer& optimizer,
                      const TrainProgress& progress, const fs::path& tokenizer, dist::ProcessGroup& group) {
  std::optional<AtomicDirectory> directory;
  std::unique_ptr<SharedFiles> files;
  fs::path dir;
  const auto open_files = [&] {
    files.reset(new SharedFiles{{dir / model::kWeightsFile, model::weight_sources(model)},
                                {dir / kTensorsFile, state_sources(optimizer, model)}});
  };
  dist::run_on_all_ranks(group, [&] {
    if (!group.is_first()) return;
    run::remove_checkpoint(path);  // from before the run went back to an older one
    directory.emplace(path);
    dir = directory->working_path();
    write_json(dir / model::kConfigFile, model::config_to_json(model.config));
    if (!tokenizer.empty()) write_file(dir / text::kTokenizerFile, read_file(tokenizer));
    open_files();
    files->weights.create();
    files->state.create();
  });
  dir = group.gather(dir.string()).front();
  dist::run_on_all_ranks(group, [&] {
    if (!group.is_first()) open_files();
    write_own_weights(model, files->weights, group);
    write_own_state(optimizer, model, files->state);
    files->weights.flush();
    files->state.flush();
  });
  dist::run_on_all_ranks(group, [&] {
    if (!group.is_first()) return;
    write_rest(dir, optimizer, progress);
    directory->commit();
  });
}

SavedState read_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kStateFile;
  return saved_state_from_json(read_json(path), path.string());
}

}  // namespace

void save_checkpoint(const fs::path& run, const model::Transformer& model, const Optimizer& optimizer,
                     const TrainProgress& progress, const fs::path& tokenizer) {
  dist::ProcessGroup one_rank;
  save_checkpoint(run, model, optimizer, progress, tokenizer, one_rank);
}

void save_checkpoint(const fs::path& run, const model::Transformer& model, const Optimizer& optimizer,
                     const TrainProgress& progress, const fs::path& tokenizer, dist::ProcessGroup& group) {
  std::vector<Tensor> values;
  for (const model::Parameter& parameter : model.parameters) values.push_back(parameter.value);
  dist::check_same(group, values, fmt::format("the parameters at step {}", progress.step));
  try {
    write_checkpoint(run::checkpoint_path(run, progress.step), model, optimizer, progress, tokenizer, group);
  } catch (const Error& e) {
    std::error_code code;
    const fs::space_info space = fs::space(run, code);
    throw Error(fmt::format("the checkpoint of step {} was not written ({}); it needs {}, {} are free", progress.step,
                            e.what(), format_bytes(static_cast<double>(checkpoint_bytes(model, optimizer))),
                            code ? "an unknown number" : format_bytes(static_cast<double>(space.available))),
                "make room and run the same command: it resumes from the last good checkpoint");
  }
}

LoadedCheckpoint load_checkpoint(const fs::path& checkpoint, Log& log, const torch::TensorOptions& options) {
  const SavedState state = read_state(checkpoint);
  const std::string origin = (checkpoint / kStateFile).string();
  if (!state.has_own_hash) log.warn(fmt::format("{} has no hash of its own: it was written by version 0.1", origin));
  const JsonFields hashes(state.file_hashes, origin);
  for (const char* name : kHashedFiles) {
    if (file_hash(checkpoint / name, throw_if_interrupted) != hashes.get<std::string>(name)) {
      throw Error(
          fmt::format("{} is damaged: its hash differs from the one in {}", (checkpoint / name).string(), kStateFile));
    }
  }
  return {.model = owned_copy(model::load_model(checkpoint, log, options)), .progress = state.progress};
}

void load_optimizer_state(const fs::path& checkpoint, Optimizer& optimizer) {
  const auto file = formats::SafetensorsFile::open(checkpoint / kTensorsFile);
  const std::size_t expected = optimizer.whole_state().size();
  if (file.tensors().size() != expected) {
    throw Error(fmt::format("{}: {} tensors, expected {}", file.path().string(), file.tensors().size(), expected),
                "the optimiser's options have changed");
  }
  for (const NamedState& each : optimizer.state()) {
    throw_if_interrupted();
    const Tensor saved = model::view_tensor(file, each.name);
    if (saved.sizes() != at::IntArrayRef(each.shape)) {
      throw Error(fmt::format("{}: tensor '{}' has another shape than its parameter", file.path().string(), each.name));
    }
    Tensor(each.value).copy_(saved.narrow(0, each.first_row, each.value.size(0)));
  }
  optimizer.set_steps(read_state(checkpoint).optimizer_steps);
}

}  // namespace crope::train
