// The documents of files and folders, one after the other, for the training of a vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/file.h"

namespace crope::cli {

// The text in field `field` of one JSON object. Throws Error naming the origin and the line.
std::string text_of_json_line(std::string_view line, const std::string& field, std::string_view origin,
                              std::size_t line_number);

// .jsonl files are one document a line; other files are text, handed over in pieces that do not cut a word.
// Folders stand for the .txt and .jsonl files below them, by name. Used by one thread at a time.
class TrainingText {
 public:
  // Throws Error if a source does not exist, or a folder has no such file.
  TrainingText(const std::vector<std::string>& sources, std::string text_field);

  // Puts the next document into `document`, or gives false.
  bool next(std::string& document);

  std::uint64_t total_bytes() const { return total_bytes_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t documents() const { return documents_; }

 private:
  bool open_next_file();

  std::string text_field_;
  std::vector<std::filesystem::path> files_;
  std::size_t opened_ = 0;            // how many of files_
  std::ifstream lines_;               // the open .jsonl, or
  std::shared_ptr<MappedFile> text_;  // the open text
  std::string_view rest_;             // of text_
  std::size_t line_number_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t documents_ = 0;
};

}  // namespace crope::cli
