// A text file as rows of token ids, for measurements on text.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "crope/model/language_model.h"

namespace crope::model {

struct TextRowOptions {
  std::int64_t tokens = 16384;  // at most, over all rows
  std::int64_t row_tokens = 0;  // of a row; 0: 512, or the window where that is shorter
};

// The beginning of the file, cut into rows [1, T] of ids (int64). Each row begins with the model's begin token, if it
// has one. A last row of fewer than two tokens is dropped.
// Throws UsageError if the file is not UTF-8, if there is no tokenizer, or if no row is left.
std::vector<torch::Tensor> text_rows(const LanguageModel& model, const std::filesystem::path& file,
                                     const TextRowOptions& options = {});

}  // namespace crope::model
