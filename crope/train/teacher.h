// The model that a run learns from beside its text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "crope/base/log.h"
#include "crope/model/transformer.h"

namespace crope::train {

// The model in training, which a teacher must fit.
struct Student {
  const model::ModelConfig& model;
  std::int64_t seq_len;
  std::filesystem::path init_from;  // may be empty
};

// Throws Error if the teacher has another vocabulary than the student, takes fewer than seq_len tokens, or has another
// tokenizer than the model that the student starts from.
void check_teacher(const std::filesystem::path& teacher, const Student& student);

// A hash of the teacher's weights.
std::string teacher_fingerprint(const std::filesystem::path& teacher);

// Without gradients, on that device; none where `teacher` is empty.
std::optional<model::Transformer> load_teacher(const std::filesystem::path& teacher, const std::string& device,
                                               Log& log);

}  // namespace crope::train
