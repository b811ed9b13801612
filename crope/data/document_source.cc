#include "crope/data/document_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "crope/base/error.h"
#include "crope/data/document_reader.h"

namespace crope::data {
namespace fs = std::filesystem;
namespace {

struct Ending {
  std::string_view text;
  SourceFormat format;
};
constexpr std::array<Ending, 10> kEndings = {{
    {".txt", SourceFormat::text},
    {".txt.gz", SourceFormat::text},
    {".txt.zst", SourceFormat::text},
    {".jsonl", SourceFormat::jsonl},
    {".jsonl.gz", SourceFormat::jsonl},
    {".jsonl.zst", SourceFormat::jsonl},
    {".ndjson", SourceFormat::jsonl},
    {".ndjson.gz", SourceFormat::jsonl},
    {".ndjson.zst", SourceFormat::jsonl},
    {".parquet", SourceFormat::parquet},
}};

constexpr const char* kStandardInput = "-";

std::optional<SourceFormat> format_of(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.text)) return ending.format;
  }
  return std::nullopt;
}

void find_in_folder(const fs::path& folder, std::vector<SourceFile>& files) {
  std::vector<SourceFile> found;
  std::error_code code;
  for (auto entry = fs::recursive_directory_iterator(folder, code); entry != fs::recursive_directory_iterator();
       entry.increment(code)) {
    const bool is_hidden = entry->path().filename().string().starts_with('.');
    if (is_hidden && entry->is_directory()) entry.disable_recursion_pending();
    if (is_hidden || !entry->is_regular_file()) continue;
    if (const auto format = format_of(entry->path())) found.push_back({entry->path(), *format, entry->file_size()});
  }
  if (code) throw Error(fmt::format("cannot read the folder {}: {}", folder.string(), code.message()));
  if (found.empty()) {
    throw Error(fmt::format("{}: no documents found", folder.string()),
                "supported: .txt, .jsonl and .ndjson, each also .gz or .zst, and .parquet");
  }
  std::ranges::sort(found, {}, &SourceFile::path);
  files.insert(files.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::vector<SourceFile> find_sources(std::span<const std::string> names, SourceFormat format) {
  std::vector<SourceFile> files;
  for (const std::string& name : names) {
    if (name == kStandardInput) {
      if (format == SourceFormat::parquet) throw UsageError("Parquet cannot be read from the standard input");
      files.push_back({name, format == SourceFormat::automatic ? SourceFormat::jsonl : format, 0});
      continue;
    }
    std::error_code code;
    const fs::file_status status = fs::status(name, code);
    if (!fs::exists(status)) throw Error(fmt::format("{}: no such file or folder", name), "check the path");
    if (fs::is_directory(status)) {
      find_in_folder(name, files);
      continue;
    }
    const std::optional<SourceFormat> known = format == SourceFormat::automatic ? format_of(name) : format;
    if (!known) {
      throw Error(fmt::format("{}: unknown file type '{}'", name, fs::path(name).extension().string()),
                  "give its format: text, jsonl or parquet");
    }
    files.push_back({name, *known, fs::is_regular_file(status) ? fs::file_size(name, code) : 0});
  }
  if (files.empty()) throw UsageError("no sources were given", "name files or folders, or - for the standard input");
  return files;
}

bool is_clean_cut(std::string_view text, std::size_t i) {
  return i > 0 && i + 1 < text.size() && text[i] == ' ' && is_ascii_letter(text[i - 1]) && is_ascii_letter(text[i + 1]);
}

std::size_t cut_point(std::string_view text) {
  for (std::size_t i = kPieceBytes; i > 1; --i) {
    if (is_clean_cut(text, i)) return i;
  }
  const auto continues_character = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  for (std::size_t i = kPieceBytes; i > kPieceBytes - 4; --i) {
    if (!continues_character(i)) return i;
  }
  return kPieceBytes;
}

DocumentSource::DocumentSource(std::vector<SourceFile> files, SourceOptions options)
    : files_(std::move(files)), options_(std::move(options)) {}
DocumentSource::~DocumentSource() = default;

bool DocumentSource::next(Piece& piece) {
  while (true) {
    const std::size_t available = pending_.size() - begin_;
    if (available > kPieceBytes + 1) {
      emit(piece, cut_point(std::string_view(pending_).substr(begin_)));
      return true;
    }
    if (document_ended_) {
      const bool has_text = available > 0;
      if (has_text) emit(piece, available);
      if (!has_text) ++counts_.empty;
      pending_.clear();
      begin_ = 0;
      document_ended_ = false;
      at_start_ = true;
      if (has_text) return true;
    }
    if (!fetch()) return false;
  }
}

void DocumentSource::emit(Piece& piece, std::size_t size) {
  piece.starts_document = at_start_;
  if (begin_ == 0 && size == pending_.size()) {
    piece.text.swap(pending_);  // the memory of the piece before serves the next document
    pending_.clear();
  } else {
    piece.text.assign(pending_, begin_, size);
    begin_ += size;
    if (begin_ > pending_.size() / 2) pending_.erase(0, std::exchange(begin_, 0));
  }
  counts_.documents += at_start_ ? 1 : 0;
  counts_.bytes += size;
  at_start_ = false;
}

// Adds a fragment to the pending text. False at the end of the last file.
bool DocumentSource::fetch() {
  while (true) {
    if (reader_ == nullptr) {
      if (next_file_ == files_.size()) return false;
      reader_ = open_documents(files_[next_file_++], options_, counts_);
    }
    if (const std::optional<Fragment> fragment = reader_->next()) {
      pending_ += fragment->text;
      document_ended_ = fragment->ends_document;
      return true;
    }
    finished_bytes_ += files_[next_file_ - 1].bytes;
    reader_.reset();
  }
}

std::uint64_t DocumentSource::consumed_bytes() const {
  return finished_bytes_ + (reader_ == nullptr ? 0 : reader_->consumed());
}

std::uint64_t DocumentSource::total_bytes() const {
  std::uint64_t total = 0;
  for (const SourceFile& file : files_) {
    if (file.path == kStandardInput) return 0;
    total += file.bytes;
  }
  return total;
}

}  // namespace crope::data
