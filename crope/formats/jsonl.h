// Lines of a file, and JSON lines of which one string field is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crope/formats/input_stream.h"

namespace crope::formats {

constexpr std::size_t kLongestLine = std::size_t{1} << 28;

// The lines of a plain or compressed file (see InputStream), without their ends ("\n" or "\r\n"). A byte order mark
// at the beginning is dropped. Memory: the longest line.
class LineReader {
 public:
  explicit LineReader(InputStream stream, std::size_t longest_line = kLongestLine);

  // The next line, valid until the next call; nothing at the end. A last line without an end is a line.
  // Throws Error naming file and line if it is longer than allowed, and what InputStream throws.
  std::optional<std::string_view> next();

  // Number of the line last returned, counted from 1.
  std::uint64_t line_number() const { return line_number_; }

  const InputStream& stream() const { return stream_; }

 private:
  bool refill();

  InputStream stream_;
  std::size_t longest_line_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what of the buffer has not been returned
  std::uint64_t line_number_ = 0;
};

// One line of a JSON lines file: its text, or null, or what is wrong with it.
struct JsonlRow {
  enum class Kind { text, null, bad };
  Kind kind;
  std::string_view text;  // of kind text; UTF-8, valid until the next row is read
  std::string problem;    // of kind bad: "corpus.jsonl:17: there is no field 'text'"
};

// Blank lines are passed over. Every line is checked to be one JSON object in UTF-8; of two equal keys the first
// counts.
class JsonlReader {
 public:
  JsonlReader(InputStream stream, std::string field, std::size_t longest_line = kLongestLine);

  // Nothing at the end. A bad row does not end the reading; a damaged file throws (see LineReader).
  std::optional<JsonlRow> next();

  const InputStream& stream() const { return lines_.stream(); }

 private:
  LineReader lines_;
  std::string field_;
  std::string text_;  // of the row last returned
};

}  // namespace crope::formats
