// Finds the tokenizer that --tokenizer names.
#pragma once

#include <filesystem>
#include <string>

namespace crope::cli {

// Help of --tokenizer, wherever a command has it.
inline constexpr const char* kTokenizerHelp =
    "A tokenizer.json, or a tokenizer, model, data or run directory that holds one";

// `given`; for a run directory, the folder of its newest checkpoint.
std::filesystem::path tokenizer_path(const std::string& given);

}  // namespace crope::cli
