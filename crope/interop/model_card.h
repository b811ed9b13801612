// README.md of an export: what the model is, how it was trained, what it scored.
#pragma once

#include <filesystem>
#include <string>

namespace crope::interop {

enum class CardKind { hf, hf_native };

// Markdown with the front matter of Hugging Face. `model_dir` is a model directory, a run directory or a checkpoint of
// one; losses and scores come from the run, up to the exported checkpoint, and are omitted without a run.
// Throws Error if config.json, run.json, metrics.jsonl or results.json is there and cannot be read.
std::string model_card(const std::filesystem::path& model_dir, CardKind kind);

}  // namespace crope::interop
