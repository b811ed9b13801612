#include "crope/eval/answer_filter.h"

#include "crope/eval/python_text.h"
#include "crope/text/pcre2_pattern.h"

namespace crope::eval {
namespace {

// lm_eval's "#### (\-?[0-9\.\,]+)", of which only the group is wanted.
constexpr const char* kStrictPattern = R"((?<=#### )-?[0-9.,]+)";
constexpr const char* kFlexiblePattern = R"(-?[$0-9.,]{2,}|-?[0-9]+)";

constexpr std::string_view kAnswerMark = "#### ";

// What exact_match compares.
std::string normalised(std::string_view answer) {
  std::string text = replace_all(replace_all(answer, ",", ""), "$", "");
  const std::size_t mark = text.rfind(kAnswerMark);
  if (mark != std::string::npos) text.erase(0, mark + kAnswerMark.size());
  // Python's "\.$" also matches a point before a line end that is the last character.
  const std::size_t last = text.size() - (text.ends_with(".\n") ? 2 : 1);
  if (text.ends_with('.') || text.ends_with(".\n")) text.erase(last, 1);
  return lower(text);
}

}  // namespace

std::string strict_match(std::string_view text) {
  static const text::Pcre2Pattern pattern(kStrictPattern);
  std::string answer;
  pattern.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    if (answer.empty()) answer = text.substr(begin, end - begin);
  });
  return answer.empty() ? kNoAnswer : answer;
}

std::string flexible_extract(std::string_view text) {
  static const text::Pcre2Pattern pattern(kFlexiblePattern);
  std::string answer = kNoAnswer;
  pattern.for_each_match(text, [&](std::size_t begin, std::size_t end) { answer = text.substr(begin, end - begin); });
  return answer;
}

bool exact_match(std::string_view prediction, std::string_view reference) {
  return normalised(prediction) == normalised(reference);
}

}  // namespace crope::eval
