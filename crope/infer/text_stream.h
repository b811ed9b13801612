// Bytes of tokens to text that can be shown at once: whole UTF-8 characters, and nothing that may yet turn out to be
// the beginning of a stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crope::infer {

// Bytes in, whole characters out. What is not UTF-8 becomes U+FFFD, one for each longest part that could have been the
// beginning of a character, as Python's decoder and transformers have it.
class Utf8Stream {
 public:
  // The characters that are complete now.
  std::string push(std::string_view bytes);

  // Ends the text: an incomplete character becomes U+FFFD.
  std::string finish();

 private:
  std::string pending_;  // the beginning of a character, at most three bytes
};

// The text of one sequence. It ends before the first stop string, wherever token borders fall.
class TextStream {
 public:
  // Throws UsageError if a stop string is empty.
  explicit TextStream(std::vector<std::string> stop);

  // Adds the bytes of a token and returns the text that is certain now. Nothing after a stop string counts.
  std::string push(std::string_view bytes);

  // No more tokens: what was held back.
  std::string finish();

  // Whether a stop string has come.
  bool stopped() const { return stopped_; }

  // All text so far, without the stop string; what is held back is at its end.
  const std::string& text() const { return text_; }

 private:
  std::string add(std::string_view characters);

  std::vector<std::string> stop_;
  Utf8Stream utf8_;
  std::string text_;
  std::size_t longest_stop_ = 0;
  std::size_t shown_ = 0;  // bytes of text_ that were returned
  bool stopped_ = false;
};

}  // namespace crope::infer
