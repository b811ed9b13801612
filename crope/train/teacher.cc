#include "crope/train/teacher.h"

#include <fmt/format.h>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/model/model_dir.h"
#include "crope/text/tokenizer.h"

namespace crope::train {
namespace fs = std::filesystem;

void check_teacher(const fs::path& teacher, const Student& student) {
  const fs::path dir = model::resolve_model_dir(teacher);
  const model::ModelConfig config = model::load_config(dir);
  if (config.vocab_size != student.model.vocab_size) {
    throw Error(fmt::format("teacher {}: vocab_size is {}, expected the student's {}", teacher.string(),
                            config.vocab_size, student.model.vocab_size),
                "a teacher shares the student's tokenizer and vocabulary");
  }
  if (config.max_seq_len < student.seq_len) {
    throw Error(fmt::format("teacher {}: takes at most {} tokens (max_seq_len), but seq_len is {}", teacher.string(),
                            config.max_seq_len, student.seq_len),
                fmt::format("use a seq_len of {} or less", config.max_seq_len));
  }
  if (student.init_from.empty() || !fs::exists(student.init_from)) return;
  const fs::path start = model::resolve_model_dir(student.init_from);
  if (!fs::exists(dir / text::kTokenizerFile) || !fs::exists(start / text::kTokenizerFile)) return;
  if (text::Tokenizer::load(dir).fingerprint() == text::Tokenizer::load(start).fingerprint()) return;
  throw Error(fmt::format("teacher {}: its tokenizer differs from that of {}", teacher.string(), start.string()),
              "teacher and student share one tokenizer");
}

std::string teacher_fingerprint(const fs::path& teacher) {
  const fs::path weights = model::resolve_model_dir(teacher) / model::kWeightsFile;
  return hash_text(content_hash(MappedFile::open(weights)->bytes()));
}

std::optional<model::Transformer> load_teacher(const fs::path& teacher, const std::string& device, Log& log) {
  if (teacher.empty()) return {};
  return model::load_model(teacher, log, torch::TensorOptions(torch::Device(device)).dtype(torch::kFloat32));
}

}  // namespace crope::train
