#include "crope/infer/text_stream.h"

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/utf8.h"

namespace crope::infer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// How many bytes at the end of `text` a stop string begins with.
std::size_t held_back(std::string_view text, const std::vector<std::string>& stop) {
  std::size_t longest = 0;
  for (const std::string& s : stop) {
    for (std::size_t n = std::min(s.size() - 1, text.size()); n > longest; --n) {
      if (text.ends_with(std::string_view(s).substr(0, n))) longest = n;
    }
  }
  return longest;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string characters;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Character first = first_utf8_character(rest);
    if (first.kind == Utf8Kind::beginning) break;
    characters += first.kind == Utf8Kind::character ? rest.substr(0, first.length) : kReplacement;
    rest.remove_prefix(first.length);
  }
  pending_ = std::string(rest);
  return characters;
}

std::string Utf8Stream::finish() {
  const bool broken = !pending_.empty();
  pending_.clear();
  return broken ? std::string(kReplacement) : std::string();
}

TextStream::TextStream(std::vector<std::string> stop) : stop_(std::move(stop)) {
  for (std::string& s : stop_) {
    if (s.empty()) throw UsageError("a stop string is empty", "omit it: nothing would be generated");
    // The text is valid UTF-8, so what it is searched for has to be: half a character would tear one apart.
    Utf8Stream utf8;
    const std::string whole = utf8.push(s);
    s = whole + utf8.finish();
    longest_stop_ = std::max(longest_stop_, s.size());
  }
}

std::string TextStream::add(std::string_view characters) {
  if (stopped_ || characters.empty()) return {};
  // A stop string that ends in the new characters begins at most its length before them.
  const std::size_t from = text_.size() < longest_stop_ ? 0 : text_.size() - longest_stop_;
  text_ += characters;
  std::size_t cut = std::string::npos;
  for (const std::string& s : stop_) cut = std::min(cut, text_.find(s, from));
  if (cut != std::string::npos) {
    stopped_ = true;
    text_.resize(cut);
  }
  const std::size_t certain = stopped_ ? text_.size() : text_.size() - held_back(text_, stop_);
  // What was shown is never held back again: a longer beginning would have been held back then.
  std::string fresh = text_.substr(shown_, certain - shown_);
  shown_ = certain;
  return fresh;
}

std::string TextStream::push(std::string_view bytes) {
  return add(utf8_.push(bytes));
}

std::string TextStream::finish() {
  if (stopped_) return {};
  std::string rest = add(utf8_.finish());  // may complete a stop string that ends in U+FFFD
  rest += text_.substr(shown_);
  shown_ = text_.size();
  return rest;
}

}  // namespace crope::infer
