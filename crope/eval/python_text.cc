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

// Characters whose title case is two or three characters (Unicode's SpecialCasing).
constexpr char32_t kSpecialTitles[][4] = {
    {0xDF, 'S', 's', 0},           {0x149, 0x2BC, 'N', 0},        {0x1F0, 'J', 0x30C, 0},
    {0x390, 0x399, 0x308, 0x301},  {0x3B0, 0x3A5, 0x308, 0x301},  {0x587, 0x535, 0x582, 0},
    {0x1E96, 'H', 0x331, 0},       {0x1E97, 'T', 0x308, 0},       {0x1E98, 'W', 0x30A, 0},
    {0x1E99, 'Y', 0x30A, 0},       {0x1E9A, 'A', 0x2BE, 0},       {0x1F50, 0x3A5, 0x313, 0},
    {0x1F52, 0x3A5, 0x313, 0x300}, {0x1F54, 0x3A5, 0x313, 0x301}, {0x1F56, 0x3A5, 0x313, 0x342},
    {0x1FB2, 0x1FBA, 0x345, 0},    {0x1FB4, 0x386, 0x345, 0},     {0x1FB6, 0x391, 0x342, 0},
    {0x1FB7, 0x391, 0x342, 0x345}, {0x1FC2, 0x1FCA, 0x345, 0},    {0x1FC4, 0x389, 0x345, 0},
    {0x1FC6, 0x397, 0x342, 0},     {0x1FC7, 0x397, 0x342, 0x345}, {0x1FD2, 0x399, 0x308, 0x300},
    {0x1FD3, 0x399, 0x308, 0x301}, {0x1FD6, 0x399, 0x342, 0},     {0x1FD7, 0x399, 0x308, 0x342},
    {0x1FE2, 0x3A5, 0x308, 0x300}, {0x1FE3, 0x3A5, 0x308, 0x301}, {0x1FE4, 0x3A1, 0x313, 0},
    {0x1FE6, 0x3A5, 0x342, 0},     {0x1FE7, 0x3A5, 0x308, 0x342}, {0x1FF2, 0x1FFA, 0x345, 0},
    {0x1FF4, 0x38F, 0x345, 0},     {0x1FF6, 0x3A9, 0x342, 0},     {0x1FF7, 0x3A9, 0x342, 0x345},
    {0xFB00, 'F', 'f', 0},         {0xFB01, 'F', 'i', 0},         {0xFB02, 'F', 'l', 0},
    {0xFB03, 'F', 'f', 'i'},       {0xFB04, 'F', 'f', 'l'},       {0xFB05, 'S', 't', 0},
    {0xFB06, 'S', 't', 0},         {0xFB13, 0x544, 0x576, 0},     {0xFB14, 0x544, 0x565, 0},
    {0xFB15, 0x544, 0x56B, 0},     {0xFB16, 0x54E, 0x576, 0},     {0xFB17, 0x544, 0x56D, 0}};

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
  for (const auto& [from, first, second, third] : kSpecialTitles) {
    if (from != c) continue;
    append(out, first);
    append(out, second);
    if (third != 0) append(out, third);
    return;
  }
  append(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
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
