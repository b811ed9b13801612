#include "crope/data/document_reader.h"

#include <fmt/format.h>

#include <utility>

#include "crope/base/error.h"
#include "crope/formats/input_stream.h"
#include "crope/formats/jsonl.h"
#include "crope/formats/parquet.h"

namespace crope::data {
namespace {

using Fragment = DocumentSource::Fragment;

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
constexpr std::string_view kSeparator = "<|endoftext|>";
constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Lines of any length: a line is handed out whole if it fits a block, in several fragments otherwise. Its line break is
// held back until it is known whether a separator follows.
class TextReader : public DocumentSource::Reader {
 public:
  TextReader(formats::InputStream stream, bool split_blank_lines)
      : stream_(std::move(stream)), split_blank_lines_(split_blank_lines), buffer_(kBlockBytes, '\0') {}

  std::optional<Fragment> next() override {
    while (true) {
      const bool line_starts = line_starts_;
      const std::optional<std::string_view> part = next_part();
      if (!part) {
        if (!document_open_) return std::nullopt;
        document_open_ = false;
        return Fragment{std::exchange(held_break_, {}), true};
      }
      const auto [line, line_break] = split_break(*part);
      const bool whole_line = line_starts && line_starts_;
      if (whole_line && (line == kSeparator || (split_blank_lines_ && is_blank(line)))) {
        held_break_ = {};
        if (!document_open_) continue;
        document_open_ = false;
        return Fragment{{}, true};
      }
      joined_.assign(std::exchange(held_break_, line_break));
      joined_ += line;
      document_open_ = true;
      return Fragment{joined_, false};
    }
  }

  std::uint64_t consumed() const override { return stream_.consumed(); }

 private:
  // A line with its break, or the part of a longer one that fills the buffer. Sets line_starts_ for the next call.
  std::optional<std::string_view> next_part() {
    std::size_t newline = buffer_.find('\n', begin_);
    if (newline >= end_) {
      fill();
      newline = buffer_.find('\n', begin_);
    }
    if (begin_ == end_) return std::nullopt;
    line_starts_ = newline < end_ || at_end_;
    // A carriage return at the very end of a part may belong to the break that comes next.
    std::size_t part_end = newline < end_ ? newline + 1 : end_;
    if (!line_starts_ && part_end - begin_ > 1 && buffer_[part_end - 1] == '\r') --part_end;
    const std::size_t part_begin = std::exchange(begin_, part_end);
    return std::string_view(buffer_).substr(part_begin, part_end - part_begin);
  }

  void fill() {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= std::exchange(begin_, 0);
    const std::span<char> room = std::span(buffer_.data(), buffer_.size()).subspan(end_);
    const std::size_t got = stream_.read(room);
    at_end_ = got < room.size();
    if (std::string_view(room.data(), got).find('\0') != std::string_view::npos) {
      throw Error(fmt::format("{}: a NUL byte: this is not text", stream_.path().string()),
                  "omit the file, or give its format");
    }
    if (is_first_block_ && std::string_view(room.data(), got).starts_with(kByteOrderMark))
      begin_ = kByteOrderMark.size();
    is_first_block_ = false;
    end_ += got;
  }

  static bool is_blank(std::string_view line) { return line.find_first_not_of(kBlanks) == std::string_view::npos; }

  static std::pair<std::string_view, std::string_view> split_break(std::string_view part) {
    const std::size_t size = part.ends_with("\r\n") ? 2 : part.ends_with('\n') ? 1 : 0;
    const std::string_view line_break = size == 2 ? "\r\n" : size == 1 ? "\n" : "";
    return {part.substr(0, part.size() - size), line_break};
  }

  formats::InputStream stream_;
  bool split_blank_lines_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what of the buffer has not been handed out
  bool is_first_block_ = true;
  bool at_end_ = false;
  bool line_starts_ = true;  // the next part is the beginning of a line
  bool document_open_ = false;
  std::string_view held_break_;
  std::string joined_;
};

class JsonlDocuments : public DocumentSource::Reader {
 public:
  JsonlDocuments(formats::InputStream stream, const SourceOptions& options, SourceCounts& counts)
      : rows_(std::move(stream), options.text_field), skip_bad_rows_(options.skip_bad_rows), counts_(counts) {}

  std::optional<Fragment> next() override {
    while (std::optional<formats::JsonlRow> row = rows_.next()) {
      switch (row->kind) {
        case formats::JsonlRow::Kind::text:
          return Fragment{row->text, true};
        case formats::JsonlRow::Kind::null:
          ++counts_.nulls;
          break;
        case formats::JsonlRow::Kind::bad:
          if (!skip_bad_rows_) {
            throw Error(row->problem,
                        "give the name of the field (text_field), skip such rows (skip_bad_rows), or read the file as "
                        "plain text (format text)");
          }
          if (counts_.bad_rows++ == 0) counts_.first_bad_row = std::move(row->problem);
          break;
      }
    }
    return std::nullopt;
  }

  std::uint64_t consumed() const override { return rows_.stream().consumed(); }

 private:
  formats::JsonlReader rows_;
  bool skip_bad_rows_;
  SourceCounts& counts_;
};

class ParquetDocuments : public DocumentSource::Reader {
 public:
  ParquetDocuments(const SourceFile& file, const SourceOptions& options, SourceCounts& counts)
      : column_(formats::ParquetColumn::open(file.path, options.text_field)), bytes_(file.bytes), counts_(counts) {}

  std::optional<Fragment> next() override {
    const std::uint64_t nulls = column_.nulls();
    const std::optional<std::string_view> value = column_.next();
    counts_.nulls += column_.nulls() - nulls;
    if (!value) return std::nullopt;
    return Fragment{*value, true};
  }

  std::uint64_t consumed() const override {
    if (column_.rows() == 0) return bytes_;
    const double share = static_cast<double>(column_.rows_read()) / static_cast<double>(column_.rows());
    return static_cast<std::uint64_t>(share * static_cast<double>(bytes_));
  }

 private:
  formats::ParquetColumn column_;
  std::uint64_t bytes_;
  SourceCounts& counts_;
};

}  // namespace

std::unique_ptr<DocumentSource::Reader> open_documents(const SourceFile& file, const SourceOptions& options,
                                                       SourceCounts& counts) {
  if (file.format == SourceFormat::parquet) return std::make_unique<ParquetDocuments>(file, options, counts);
  formats::InputStream stream = formats::InputStream::open(file.path);
  if (file.format == SourceFormat::jsonl) return std::make_unique<JsonlDocuments>(std::move(stream), options, counts);
  return std::make_unique<TextReader>(std::move(stream), options.split_blank_lines);
}

}  // namespace crope::data
