#include "cli/tokenizer_path.h"

#include "crope/model/model_dir.h"
#include "crope/run/run_dir.h"
#include "crope/text/tokenizer.h"

namespace crope::cli {
namespace fs = std::filesystem;

fs::path tokenizer_path(const std::string& given) {
  const bool is_run = run::holds_run(given) && !fs::exists(fs::path(given) / text::kTokenizerFile);
  return is_run ? model::resolve_model_dir(given) : fs::path(given);
}

}  // namespace crope::cli
