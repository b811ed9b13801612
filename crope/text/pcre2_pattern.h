// A compiled PCRE2 pattern over UTF-8, and the patterns that split words.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace crope::text {

// Unicode's White_Space, which is what \s means in GPT-2's pattern. Spelled out because PCRE2 counts U+180E as well.
inline constexpr std::pair<char32_t, char32_t> kSpaceRanges[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ with the classes of white space spelled.
std::string gpt2_pattern();

// The pattern of Llama 3 (digits by threes) and Qwen 2 (one by one), likewise:
// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
std::string cl100k_pattern(int most_digits);

// Thread-safe: a match keeps its state on the stack of the call.
class Pcre2Pattern {
 public:
  // REQUIRES: the pattern is valid; it is a constant of this program.
  explicit Pcre2Pattern(std::string_view pattern);

  // Calls `found` with the begin and end of each match, in order. REQUIRES: the text is valid UTF-8.
  void for_each_match(std::string_view text, const std::function<void(std::size_t, std::size_t)>& found) const;

 private:
  std::shared_ptr<void> code_;
};

}  // namespace crope::text
