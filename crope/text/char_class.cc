#include "crope/text/char_class.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "crope/text/pcre2_pattern.h"

namespace crope::text {
namespace {

constexpr int kPageBits = 8;
constexpr std::size_t kPageSize = std::size_t{1} << kPageBits;
constexpr char32_t kEndOfUnicode = 0x110000;

// Two stages: equal pages are kept once, which makes 1.1 million code points 40 KB.
class ClassTable {
 public:
  ClassTable() {
    std::vector<CharClass> classes(kEndOfUnicode, CharClass::other);
    // PCRE2 tells the classes of letters and numbers; asking it once for all characters takes some milliseconds.
    // Each range has one length in UTF-8, so that an offset is a code point.
    mark(classes, 0x0, 0x80, 1);
    mark(classes, 0x80, 0x800, 2);
    mark(classes, 0x800, 0xD800, 3);
    mark(classes, 0xE000, 0x10000, 3);
    mark(classes, 0x10000, kEndOfUnicode, 4);
    for (const auto& [first, last] : kSpaceRanges) {
      for (char32_t point = first; point <= last; ++point) classes[point] = CharClass::space;
    }
    fold(classes);
  }

  CharClass of(char32_t point) const { return pages_[page_of_[point >> kPageBits]][point & (kPageSize - 1)]; }

 private:
  using Page = std::array<CharClass, kPageSize>;

  static void append_utf8(std::string& text, char32_t point, int length) {
    constexpr std::uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    text += static_cast<char>(kLead[length] | (point >> (6 * (length - 1))));
    for (int rest = length - 2; rest >= 0; --rest) text += static_cast<char>(0x80 | ((point >> (6 * rest)) & 0x3F));
  }

  static void mark(std::vector<CharClass>& classes, char32_t first, char32_t end, int length) {
    static const Pcre2Pattern letters("\\p{L}+"), numbers("\\p{N}+");
    std::string text;
    for (char32_t point = first; point < end; ++point) append_utf8(text, point, length);
    const auto mark_all = [&](const Pcre2Pattern& pattern, CharClass char_class) {
      pattern.for_each_match(text, [&](std::size_t begin, std::size_t stop) {
        for (std::size_t at = begin; at < stop; at += length) classes[first + at / length] = char_class;
      });
    };
    mark_all(letters, CharClass::letter);
    mark_all(numbers, CharClass::number);
  }

  void fold(const std::vector<CharClass>& classes) {
    std::map<Page, std::uint16_t> known;
    for (std::size_t begin = 0; begin < classes.size(); begin += kPageSize) {
      Page page;
      std::copy_n(classes.begin() + static_cast<std::ptrdiff_t>(begin), kPageSize, page.begin());
      const auto [place, is_new] = known.try_emplace(page, static_cast<std::uint16_t>(pages_.size()));
      if (is_new) pages_.push_back(page);
      page_of_[begin >> kPageBits] = place->second;
    }
  }

  std::array<std::uint16_t, kEndOfUnicode / kPageSize> page_of_{};
  std::vector<Page> pages_;
};

bool is_continuation(std::uint8_t byte) {
  return (byte & 0xC0) == 0x80;
}

}  // namespace

CharClass class_of(char32_t code_point) {
  static const ClassTable table;
  return table.of(code_point);
}

Char char_at(const char* at, const char* end) {
  constexpr Char kInvalid = {CharClass::invalid, 1};
  const auto byte = [at](int n) { return static_cast<std::uint8_t>(at[n]); };
  const std::ptrdiff_t left = end - at;
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {class_of(lead), 1};
  if (lead < 0xC2) return kInvalid;
  if (lead < 0xE0) {
    if (left < 2 || !is_continuation(byte(1))) return kInvalid;
    return {class_of((lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu)), 2};
  }
  if (lead < 0xF0) {
    if (left < 3 || !is_continuation(byte(1)) || !is_continuation(byte(2))) return kInvalid;
    const char32_t point = (lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    if (point < 0x800 || (point >= 0xD800 && point < 0xE000)) return kInvalid;
    return {class_of(point), 3};
  }
  if (lead > 0xF4 || left < 4 || !is_continuation(byte(1)) || !is_continuation(byte(2)) || !is_continuation(byte(3))) {
    return kInvalid;
  }
  const char32_t point = (lead & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
  if (point < 0x10000 || point >= kEndOfUnicode) return kInvalid;
  return {class_of(point), 4};
}

}  // namespace crope::text
