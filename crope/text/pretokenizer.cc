#include "crope/text/pretokenizer.h"

#include <algorithm>
#include <array>

#include "crope/text/char_class.h"
#include "crope/text/pcre2_pattern.h"

namespace crope::text {
namespace {

// By the first byte of a character; `invalid` sends the rest of ASCII's world to char_at.
constexpr CharClass kBeyondAscii = CharClass::invalid;

constexpr std::array<CharClass, 256> make_byte_classes() {
  std::array<CharClass, 256> classes{};
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    const bool is_space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    classes[byte] = byte >= 0x80                 ? kBeyondAscii
                    : is_letter                  ? CharClass::letter
                    : byte >= '0' && byte <= '9' ? CharClass::number
                    : is_space                   ? CharClass::space
                                                 : CharClass::other;
  }
  return classes;
}

constexpr std::array<CharClass, 256> kByteClasses = make_byte_classes();

CharClass byte_class(char byte) {
  return kByteClasses[static_cast<unsigned char>(byte)];
}

Char read_char(const char* at, const char* end) {
  const CharClass quick = byte_class(*at);
  return quick == kBeyondAscii ? char_at(at, end) : Char{quick, 1};
}

// The end of the run of characters of one class that goes on at `at`.
const char* skip_run(const char* at, const char* end, CharClass run) {
  while (true) {
    while (at < end && byte_class(*at) == run) ++at;
    if (at == end || byte_class(*at) != kBeyondAscii) return at;
    const Char next = char_at(at, end);
    if (next.char_class != run) return at;
    at += next.length;
  }
}

// The length of 's 't 'm 'd 're 've 'll at `at`, where an apostrophe stands; 0 if it is none of them.
int contraction_length(const char* at, const char* end) {
  if (end - at < 2) return 0;
  switch (at[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return end - at > 2 && at[2] == 'e' ? 3 : 0;
    case 'l':
      return end - at > 2 && at[2] == 'l' ? 3 : 0;
    default:
      return 0;
  }
}

// White space before a visible character leaves its last one to the word behind it.
const char* space_word_end(const char* begin, const char* end) {
  const char* last = begin;
  const char* at = begin + read_char(begin, end).length;
  while (at < end) {
    const Char next = read_char(at, end);
    if (next.char_class == CharClass::invalid) return at;
    if (next.char_class != CharClass::space) return last == begin ? at : last;
    last = at;
    at += next.length;
  }
  return end;
}

const char* find_word_end(const char* begin, const char* end) {
  const Char first = read_char(begin, end);
  if (*begin == ' ' && begin + 1 < end) {
    const Char second = read_char(begin + 1, end);
    if (second.char_class < CharClass::space) return skip_run(begin + 1 + second.length, end, second.char_class);
  }
  if (first.char_class == CharClass::space) return space_word_end(begin, end);
  if (first.char_class == CharClass::invalid) return begin + 1;
  if (*begin == '\'') {
    if (const int length = contraction_length(begin, end); length > 0) return begin + length;
  }
  return skip_run(begin + first.length, end, first.char_class);
}

}  // namespace

std::size_t word_end(std::string_view text, std::size_t begin) {
  return static_cast<std::size_t>(find_word_end(text.data() + begin, text.data() + text.size()) - text.data());
}

std::size_t safe_cut(std::string_view text, std::size_t from) {
  for (std::size_t at = std::max<std::size_t>(from, 1); at + 1 < text.size(); ++at) {
    if (text[at] == ' ' && byte_class(text[at - 1]) == CharClass::letter &&
        byte_class(text[at + 1]) == CharClass::letter) {
      return at;
    }
  }
  return text.size();
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::vector<std::string_view> split_words_by_pattern(std::string_view text) {
  static const Pcre2Pattern pattern(gpt2_pattern());
  std::vector<std::string_view> words;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const char* stop = at;
    while (stop < end) {
      const Char next = char_at(stop, end);
      if (next.char_class == CharClass::invalid) break;
      stop += next.length;
    }
    const std::string_view valid(at, static_cast<std::size_t>(stop - at));
    pattern.for_each_match(
        valid, [&](std::size_t begin, std::size_t finish) { words.push_back(valid.substr(begin, finish - begin)); });
    if (stop < end) words.emplace_back(stop++, 1);
    at = stop;
  }
  return words;
}

}  // namespace crope::text
