#include "crope/base/choice.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"

namespace crope {

void refuse_choice(std::string_view field, std::string_view word, const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  throw UsageError(fmt::format("{}: expected {}, found '{}'", field, list, word), suggest(word, names));
}

}  // namespace crope
