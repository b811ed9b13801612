#include "crope/text/pcre2_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "crope/base/error.h"

namespace crope::text {

namespace {

// The inside of a class of white space.
std::string space_class() {
  std::string space;
  for (const auto& [first, last] : kSpaceRanges) {
    space += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<unsigned>(first), static_cast<unsigned>(last));
  }
  return space;
}

}  // namespace

std::string gpt2_pattern() {
  return fmt::format(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^{0}\p{{L}}\p{{N}}]+|[{0}]+(?![^{0}])|[{0}]+)",
                     space_class());
}

std::string cl100k_pattern(int most_digits) {
  // Letters of contractions are spelled in both cases: without regard to case PCRE2 also lets U+017F be an s.
  return fmt::format(R"('[sStTmMdD]|'[rR][eE]|'[vV][eE]|'[lL][lL]|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,{1}}}|)"
                     R"( ?[^{0}\p{{L}}\p{{N}}]+[\r\n]*|[{0}]*[\r\n]+|[{0}]+(?![^{0}])|[{0}]+)",
                     space_class(), most_digits);
}

Pcre2Pattern::Pcre2Pattern(std::string_view pattern) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                       PCRE2_UTF | PCRE2_UCP, &code, &offset, nullptr);
  if (compiled == nullptr) {
    throw Error(fmt::format("PCRE2 does not take the pattern {} (error {} at {})", pattern, code, offset),
                "the PCRE2 library must be built with Unicode support");
  }
  code_ = std::shared_ptr<void>(compiled, [](void* p) { pcre2_code_free(static_cast<pcre2_code*>(p)); });
  // Where there is no JIT the interpreter gives the same matches.
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
}

void Pcre2Pattern::for_each_match(std::string_view text,
                                  const std::function<void(std::size_t, std::size_t)>& found) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(pcre2_match_data_create(1, nullptr),
                                                                                 pcre2_match_data_free);
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
  for (std::size_t at = 0; at < text.size(); at = range[1]) {
    const int result = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                   PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data.get(), nullptr);
    if (result == PCRE2_ERROR_NOMATCH) return;
    if (result < 0) throw Error(fmt::format("PCRE2 gave up with error {} at byte {} of a text", result, at));
    found(range[0], range[1]);
  }
}

}  // namespace crope::text
