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

const char* gpt2_word_end(const char* begin, const char* end) {
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

// Numbers are cut out first, each by itself; what lies between them is split as if it stood alone.
const char* smollm_word_end(const char* begin, const char* end) {
  const Char first = read_char(begin, end);
  if (first.char_class == CharClass::number) return begin + first.length;
  if (first.char_class != CharClass::space) return gpt2_word_end(begin, end);
  const char* at = skip_run(begin, end, CharClass::space);
  if (at < end && read_char(at, end).char_class == CharClass::number) return at;
  return gpt2_word_end(begin, end);
}

bool is_line_end(char byte) {
  return byte == '\r' || byte == '\n';
}

const char* skip_line_ends(const char* at, const char* end) {
  while (at < end && is_line_end(*at)) ++at;
  return at;
}

// 's 't 're 've 'm 'll 'd in either case.
int any_case_contraction_length(const char* at, const char* end) {
  std::array<char, 3> lower{};
  const auto length = static_cast<std::size_t>(std::min<std::ptrdiff_t>(end - at, 3));
  for (std::size_t i = 0; i < length; ++i) {
    lower[i] = at[i] >= 'A' && at[i] <= 'Z' ? static_cast<char>(at[i] - 'A' + 'a') : at[i];
  }
  return contraction_length(lower.data(), lower.data() + length);
}

// The pattern of Llama 3 and Qwen 2, which differ in the digits of a word: 3 and 1.
const char* cl100k_word_end(const char* begin, const char* end, int most_digits) {
  const Char first = read_char(begin, end);
  if (first.char_class == CharClass::invalid) return begin + 1;
  if (*begin == '\'') {
    if (const int length = any_case_contraction_length(begin, end); length > 0) return begin + length;
  }
  if (first.char_class == CharClass::letter) return skip_run(begin, end, CharClass::letter);
  const char* second = begin + first.length;
  if (first.char_class == CharClass::number) {
    const char* at = second;
    for (int digits = 1; digits < most_digits && at < end; ++digits) {
      const Char next = read_char(at, end);
      if (next.char_class != CharClass::number) break;
      at += next.length;
    }
    return at;
  }
  const CharClass second_class = second < end ? read_char(second, end).char_class : CharClass::invalid;
  if (!is_line_end(*begin) && second_class == CharClass::letter) return skip_run(second, end, CharClass::letter);
  if (first.char_class == CharClass::other) return skip_line_ends(skip_run(begin, end, CharClass::other), end);
  if (*begin == ' ' && second_class == CharClass::other) {
    return skip_line_ends(skip_run(second, end, CharClass::other), end);
  }
  // White space up to its last line end, where there is one.
  const char* stop = skip_run(begin, end, CharClass::space);
  for (const char* at = stop; at > begin; --at) {
    if (is_line_end(at[-1])) return at;
  }
  return space_word_end(begin, end);
}

const char* find_word_end(const char* begin, const char* end, WordSplit split) {
  switch (split) {
    case WordSplit::smollm:
      return smollm_word_end(begin, end);
    case WordSplit::llama3:
      return cl100k_word_end(begin, end, 3);
    case WordSplit::qwen2:
      return cl100k_word_end(begin, end, 1);
    case WordSplit::gpt2:
      break;
  }
  return gpt2_word_end(begin, end);
}

// One after the other: each cuts what the previous one left whole, and what it does not match stays as it is.
std::vector<Pcre2Pattern> make_patterns(WordSplit split) {
  std::vector<Pcre2Pattern> patterns;
  switch (split) {
    case WordSplit::smollm:
      patterns.emplace_back("\\p{N}");
      [[fallthrough]];
    case WordSplit::gpt2:
      patterns.emplace_back(gpt2_pattern());
      break;
    case WordSplit::llama3:
      patterns.emplace_back(cl100k_pattern(3));
      break;
    case WordSplit::qwen2:
      patterns.emplace_back(cl100k_pattern(1));
      break;
  }
  return patterns;
}

// The matches of the pattern and what lies between them.
std::vector<std::string_view> cut_by(const Pcre2Pattern& pattern, std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t done = 0;
  pattern.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    if (begin > done) parts.push_back(text.substr(done, begin - done));
    parts.push_back(text.substr(begin, end - begin));
    done = end;
  });
  if (done < text.size()) parts.push_back(text.substr(done));
  return parts;
}

}  // namespace

std::size_t word_end(std::string_view text, std::size_t begin, WordSplit split) {
  return static_cast<std::size_t>(find_word_end(text.data() + begin, text.data() + text.size(), split) - text.data());
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

std::vector<std::string_view> split_words(std::string_view text, WordSplit split) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin, split);
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::vector<std::string_view> split_words_by_pattern(std::string_view text, WordSplit split) {
  static const std::array<std::vector<Pcre2Pattern>, 4> all = {
      make_patterns(WordSplit::gpt2), make_patterns(WordSplit::smollm), make_patterns(WordSplit::llama3),
      make_patterns(WordSplit::qwen2)};
  const std::vector<Pcre2Pattern>& patterns = all[static_cast<std::size_t>(split)];
  std::vector<std::string_view> words;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const char* stop = at;
    while (stop < end) {
      const Char next = char_at(stop, end);
      if (next.char_class == CharClass::invalid) break;
      stop += next.length;
    }
    std::vector<std::string_view> parts = {std::string_view(at, static_cast<std::size_t>(stop - at))};
    for (const Pcre2Pattern& pattern : patterns) {
      std::vector<std::string_view> finer;
      for (const std::string_view part : parts) {
        const std::vector<std::string_view> cut = cut_by(pattern, part);
        finer.insert(finer.end(), cut.begin(), cut.end());
      }
      parts = std::move(finer);
    }
    words.insert(words.end(), parts.begin(), parts.end());
    if (stop < end) words.emplace_back(stop++, 1);
    at = stop;
  }
  return words;
}

}  // namespace crope::text
