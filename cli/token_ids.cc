#include "cli/token_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "crope/base/error.h"

namespace crope::cli {

std::vector<std::int32_t> parse_token_ids(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t\r\n[]";
  std::vector<std::int32_t> ids;
  for (std::size_t begin = text.find_first_not_of(kSeparators); begin != std::string_view::npos;
       begin = text.find_first_not_of(kSeparators, begin)) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    std::int32_t id = 0;
    const auto [rest, code] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (code != std::errc() || rest != word.data() + word.size() || id < 0) {
      throw UsageError(fmt::format("token {} of the sequence is '{}', expected a whole number from 0", ids.size(),
                                   word.substr(0, 40)));
    }
    ids.push_back(id);
    begin = end;
  }
  return ids;
}

}  // namespace crope::cli
