#include "crope/formats/json_line.h"

#include <cstdint>
#include <cstring>

#include "crope/base/utf8.h"

namespace crope::formats {
namespace {

constexpr int kDeepestNesting = 64;

constexpr std::uint64_t repeat(std::uint8_t byte) {
  return 0x0101010101010101u * byte;
}

// Whether one of eight bytes is below n <= 128.
bool has_byte_below(std::uint64_t word, std::uint8_t n) {
  return ((word - repeat(n)) & ~word & repeat(0x80)) != 0;
}

bool has_byte(std::uint64_t word, std::uint8_t byte) {
  return has_byte_below(word ^ repeat(byte), 1);
}

std::uint64_t load(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

void append_utf8(std::uint32_t code, std::string& text) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// A recursive descent that builds nothing. Every function returns false, with at_ where it stopped, on bad JSON.
class LineParser {
 public:
  explicit LineParser(std::string_view line) : begin_(line.data()), at_(begin_), end_(begin_ + line.size()) {}

  JsonField find(std::string_view name, std::string& text) {
    JsonFieldKind kind = JsonFieldKind::missing;
    skip_space();
    const bool is_object = next_is('{');
    if (is_object ? !root_object(name, text, kind) : !value(0)) return malformed();
    skip_space();
    if (at_ != end_) return malformed();
    return {is_object ? kind : JsonFieldKind::not_an_object};
  }

 private:
  JsonField malformed() const { return {JsonFieldKind::malformed, static_cast<std::size_t>(at_ - begin_)}; }

  bool next_is(char c) const { return at_ != end_ && *at_ == c; }

  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }

  bool root_object(std::string_view name, std::string& text, JsonFieldKind& kind) {
    return members([&](std::string_view key) {
      if (kind != JsonFieldKind::missing || key != name) return value(1);
      kind = next_is('"') ? JsonFieldKind::string : next_is('n') ? JsonFieldKind::null : JsonFieldKind::other;
      if (kind != JsonFieldKind::string) return value(1);
      text.clear();
      return string(&text);
    });
  }

  // An object; `on_value(key)` takes the value of each member.
  template <typename Function>
  bool members(Function&& on_value) {
    if (!take('{')) return false;
    skip_space();
    if (take('}')) return true;
    std::string key;
    do {
      skip_space();
      key.clear();
      if (!string(&key)) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!on_value(key)) return false;
      skip_space();
    } while (take(','));
    return take('}');
  }

  bool array(int depth) {
    if (!take('[')) return false;
    skip_space();
    if (take(']')) return true;
    do {
      skip_space();
      if (!value(depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take(']');
  }

  bool value(int depth) {
    if (at_ == end_ || depth > kDeepestNesting) return false;
    switch (*at_) {
      case '{':
        return members([&](std::string_view) { return value(depth + 1); });
      case '[':
        return array(depth);
      case '"':
        return string(nullptr);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool word(std::string_view text) {
    if (!std::string_view(at_, end_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  bool digits() {
    const char* first = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != first;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  // Appends what the string says to `text`, unless that is null.
  bool string(std::string* text) {
    if (!take('"')) return false;
    while (true) {
      const char* run = at_;
      skip_plain();
      if (text != nullptr) text->append(run, at_);
      if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) return false;
      if (take('"')) return true;
      if (!escape(text)) return false;
    }
  }

  // To the next quote, backslash or control character.
  void skip_plain() {
    while (end_ - at_ >= 8) {
      const std::uint64_t word = load(at_);
      if (has_byte(word, '"') || has_byte(word, '\\') || has_byte_below(word, 0x20)) break;
      at_ += 8;
    }
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) ++at_;
  }

  bool escape(std::string* text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (!take('\\') || at_ == end_) return false;
    std::uint32_t code = 0;
    if (take('u')) {
      if (!code_point(&code)) return false;
    } else {
      const std::size_t which = kLetters.find(*at_);
      if (which == std::string_view::npos) return false;
      code = static_cast<unsigned char>(kMeanings[which]);
      ++at_;
    }
    if (text != nullptr) append_utf8(code, *text);
    return true;
  }

  // What follows \u, and a second escape if it is the first half of a surrogate pair.
  bool code_point(std::uint32_t* code) {
    if (!four_digits(code)) return false;
    if (*code >= 0xDC00 && *code <= 0xDFFF) return false;
    if (*code < 0xD800 || *code > 0xDBFF) return true;
    std::uint32_t low = 0;
    if (!take('\\') || !take('u') || !four_digits(&low) || low < 0xDC00 || low > 0xDFFF) return false;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
  }

  bool four_digits(std::uint32_t* code) {
    *code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == end_) return false;
      const char c = *at_;
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      *code = *code * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

}  // namespace

JsonField find_json_string(std::string_view line, std::string_view name, std::string& text) {
  const std::size_t valid = valid_utf8_prefix(line);
  if (valid != line.size()) return {JsonFieldKind::malformed, valid};
  return LineParser(line).find(name, text);
}

}  // namespace crope::formats
