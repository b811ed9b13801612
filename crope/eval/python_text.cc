#include "crope/eval/python_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace crope::eval {
namespace {

using Range = std::pair<char32_t, char32_t>;

constexpr Range kSpaces[] = {{0x09, 0x0D},     {0x1C, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                             {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

// Characters whose title case is more than one character (Unicode's SpecialCasing).
constexpr std::pair<char32_t, const char32_t*> kSpecialTitles[] = {
    {0x00DF, U"Ss"},
    {0x0149, U"\u02BCN"},
    {0x01F0, U"J\u030C"},
    {0x0390, U"\u0399\u0308\u0301"},
    {0x03B0, U"\u03A5\u0308\u0301"},
    {0x0587, U"\u0535\u0582"},
    {0x1E96, U"H\u0331"},
    {0x1E97, U"T\u0308"},
    {0x1E98, U"W\u030A"},
    {0x1E99, U"Y\u030A"},
    {0x1E9A, U"A\u02BE"},
    {0x1F50, U"\u03A5\u0313"},
    {0x1F52, U"\u03A5\u0313\u0300"},
    {0x1F54, U"\u03A5\u0313\u0301"},
    {0x1F56, U"\u03A5\u0313\u0342"},
    {0x1FB2, U"\u1FBA\u0345"},
    {0x1FB4, U"\u0386\u0345"},
    {0x1FB6, U"\u0391\u0342"},
    {0x1FB7, U"\u0391\u0342\u0345"},
    {0x1FC2, U"\u1FCA\u0345"},
    {0x1FC4, U"\u0389\u0345"},
    {0x1FC6, U"\u0397\u0342"},
    {0x1FC7, U"\u0397\u0342\u0345"},
    {0x1FD2, U"\u0399\u0308\u0300"},
    {0x1FD3, U"\u0399\u0308\u0301"},
    {0x1FD6, U"\u0399\u0342"},
    {0x1FD7, U"\u0399\u0308\u0342"},
    {0x1FE2, U"\u03A5\u0308\u0300"},
    {0x1FE3, U"\u03A5\u0308\u0301"},
    {0x1FE4, U"\u03A1\u0313"},
    {0x1FE6, U"\u03A5\u0342"},
    {0x1FE7, U"\u03A5\u0308\u0342"},
    {0x1FF2, U"\u1FFA\u0345"},
    {0x1FF4, U"\u038F\u0345"},
    {0x1FF6, U"\u03A9\u0342"},
    {0x1FF7, U"\u03A9\u0342\u0345"},
    {0xFB00, U"Ff"},
    {0xFB01, U"Fi"},
    {0xFB02, U"Fl"},
    {0xFB03, U"Ffi"},
    {0xFB04, U"Ffl"},
    {0xFB05, U"St"},
    {0xFB06, U"St"},
    {0xFB13, U"\u0544\u0576"},
    {0xFB14, U"\u0544\u0565"},
    {0xFB15, U"\u0544\u056B"},
    {0xFB16, U"\u054E\u0576"},
    {0xFB17, U"\u0544\u056D"},
};

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;
constexpr char32_t kDottedCapitalI = 0x130;

// Cased although not letters of a case (Other_Uppercase, Other_Lowercase).
constexpr Range kOtherCased[] = {{0xAA, 0xAA},       {0xBA, 0xBA},       {0x2160, 0x217F},  {0x24B6, 0x24E9},
                                 {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

// Punctuation inside of words, which the rule of the final sigma looks through (Case_Ignorable).
constexpr char32_t kInsideWords[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                     0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};

template <std::size_t N>
bool in_ranges(const Range (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const Range& range) { return range.first <= c && c <= range.second; });
}

bool is_case_ignorable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::find(std::begin(kInsideWords), std::end(kInsideWords), c) != std::end(kInsideWords);
  }
}

bool is_cased(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return in_ranges(kOtherCased, c);
  }
}

char32_t next_character(std::string_view text, std::size_t& at) {
  utf8proc_int32_t c = 0;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &c);
  at += length > 0 ? static_cast<std::size_t>(length) : 1;
  return length > 0 ? static_cast<char32_t>(c) : U'\uFFFD';
}

std::vector<char32_t> characters_of(std::string_view text) {
  std::vector<char32_t> characters;
  for (std::size_t at = 0; at < text.size();) characters.push_back(next_character(text, at));
  return characters;
}

void append(std::string& text, char32_t c) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
}

// Whether the sigma at `at` ends a word: a cased character before it, none after it.
bool ends_word(const std::vector<char32_t>& text, std::size_t at) {
  const auto before =
      std::find_if_not(text.rbegin() + static_cast<std::ptrdiff_t>(text.size() - at), text.rend(), is_case_ignorable);
  if (before == text.rend() || !is_cased(*before)) return false;
  const auto after =
      std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at) + 1, text.end(), is_case_ignorable);
  return after == text.end() || !is_cased(*after);
}

void append_lower(std::string& out, const std::vector<char32_t>& text, std::size_t at) {
  const char32_t c = text[at];
  if (c == kCapitalSigma && ends_word(text, at)) return append(out, kFinalSigma);
  if (c == kDottedCapitalI) {
    out += "i\u0307";
    return;
  }
  append(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

void append_title(std::string& out, char32_t c) {
  const auto* special = std::find_if(std::begin(kSpecialTitles), std::end(kSpecialTitles),
                                     [c](const auto& each) { return each.first == c; });
  if (special == std::end(kSpecialTitles)) {
    return append(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
  for (const char32_t* part = special->second; *part != 0; ++part) append(out, *part);
}

}  // namespace

bool is_python_space(char32_t character) {
  return in_ranges(kSpaces, character);
}

std::string_view strip_right(std::string_view text) {
  std::size_t end = 0;  // behind the last character that is no space
  for (std::size_t at = 0; at < text.size();) {
    if (!is_python_space(next_character(text, at))) end = at;
  }
  return text.substr(0, end);
}

std::string_view strip(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size() && is_python_space(next_character(text, at));) begin = at;
  return strip_right(text.substr(begin));
}

std::string lower(std::string_view text) {
  const std::vector<char32_t> characters = characters_of(text);
  std::string out;
  for (std::size_t i = 0; i < characters.size(); ++i) append_lower(out, characters, i);
  return out;
}

std::string capitalize(std::string_view text) {
  const std::vector<char32_t> characters = characters_of(text);
  std::string out;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if (i == 0) {
      append_title(out, characters[i]);
    } else {
      append_lower(out, characters, i);
    }
  }
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) return out;
    out += to;
    at = found + from.size();
  }
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

std::size_t word_count(std::string_view text) {
  std::size_t words = 1;
  bool after_space = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool space = is_python_space(next_character(text, at));
    words += space && !after_space;
    after_space = space;
  }
  return words;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Python leaves the plain form at 1e16, fmt at 1e16 as well; below 1e-4 both write an exponent.
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace crope::eval
