#include "crope/eval/task.h"

namespace crope::eval {

const char* output_type_name(OutputType type) {
  switch (type) {
    case OutputType::multiple_choice:
      return "multiple_choice";
    case OutputType::generate_until:
      return "generate_until";
    case OutputType::loglikelihood_rolling:
      return "loglikelihood_rolling";
  }
  return "";
}

}  // namespace crope::eval
