// A corpus as a stream of documents, wherever it lies: text, JSON lines, Parquet, folders of them, the standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/choice.h"

namespace crope::data {

enum class SourceFormat { automatic, text, jsonl, parquet };

}  // namespace crope::data

template <>
struct crope::ChoiceNames<crope::data::SourceFormat> {
  using Kind = data::SourceFormat;
  static constexpr auto kNames = choice_names<Kind>(
      {{Kind::automatic, "auto"}, {Kind::text, "text"}, {Kind::jsonl, "jsonl"}, {Kind::parquet, "parquet"}});
};

namespace crope::data {

struct SourceOptions {
  std::string text_field = "text";                        // of JSON lines and Parquet
  Choice<SourceFormat> format = SourceFormat::automatic;  // by the ending of the name; "-" is JSON lines
  bool skip_bad_rows = false;                             // count them instead of stopping at the first
  bool split_blank_lines = false;                         // in text, a line of white space also ends a document
};

struct SourceFile {
  std::filesystem::path path;  // "-" for the standard input
  SourceFormat format;
  std::uint64_t bytes;  // as stored, 0 for the standard input
};

// The files behind the names a user gave: files as they are, "-", and folders with all that is in them and below, by
// name. In folders only files of a known ending count (.txt, .jsonl, .ndjson, each also with .gz or .zst, and
// .parquet), and nothing whose name starts with a dot. Throws Error if a name does not exist, has no known ending, or
// nothing is found.
std::vector<SourceFile> find_sources(std::span<const std::string> names, SourceFormat format);

// A document, or a part of one that is longer than kPieceBytes. Parts are cut before a space between two ASCII letters,
// where no tokenizer joins the two sides; only text without any such place in kPieceBytes is cut
// elsewhere (between characters).
struct Piece {
  std::string text;              // not empty
  bool starts_document = false;  // the first part
};
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct SourceCounts {
  std::uint64_t documents = 0;
  std::uint64_t bytes = 0;     // of their text
  std::uint64_t empty = 0;     // documents without text, skipped
  std::uint64_t nulls = 0;     // rows whose field is null, skipped
  std::uint64_t bad_rows = 0;  // skipped, with skip_bad_rows
  std::string first_bad_row;   // what was wrong with the first of them
};

// Text files: one document each, unless lines that hold nothing but <|endoftext|> part it into several; the line break
// before such a line belongs to it. Memory: a few pieces, or the longest row.
class DocumentSource {
 public:
  DocumentSource(std::vector<SourceFile> files, SourceOptions options);
  ~DocumentSource();

  // False at the end. Throws Error, naming file and line, for a damaged file, a text file with NUL bytes and, without
  // skip_bad_rows, a line that is not JSON or has no such string.
  bool next(Piece& piece);

  const SourceCounts& counts() const { return counts_; }

  // Progress in stored bytes. The total is 0 if the standard input is among the sources.
  std::uint64_t consumed_bytes() const;
  std::uint64_t total_bytes() const;

  // A part of a document, as a reader of one file hands it out; see document_source.cc.
  struct Fragment {
    std::string_view text;
    bool ends_document;
  };
  class Reader;

 private:
  bool fetch();
  void emit(Piece& piece, std::size_t size);

  std::vector<SourceFile> files_;
  SourceOptions options_;
  SourceCounts counts_;
  std::size_t next_file_ = 0;
  std::uint64_t finished_bytes_ = 0;  // of the files before the open one
  std::unique_ptr<Reader> reader_;
  std::string pending_;          // text of the document at hand
  std::size_t begin_ = 0;        // what of it has been handed out
  bool document_ended_ = false;  // all its text is pending
  bool at_start_ = true;         // nothing of it has been handed out
};

// Where to cut a text of more than kPieceBytes + 1 bytes: a number from 1 to kPieceBytes. See Piece.
std::size_t cut_point(std::string_view text);

// Whether no tokenizer joins the text before and after text[i]: a space between two ASCII letters.
bool is_clean_cut(std::string_view text, std::size_t i);

}  // namespace crope::data
