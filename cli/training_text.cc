#include "cli/training_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/text/pretokenizer.h"

namespace crope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

bool is_jsonl(const fs::path& path) {
  return path.extension() == ".jsonl";
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && (is_jsonl(entry.path()) || entry.path().extension() == ".txt")) {
      files.push_back(entry.path());
    }
  }
  if (files.empty()) throw Error(fmt::format("{} holds no .txt or .jsonl file", folder.string()));
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::string text_of_json_line(std::string_view line, const std::string& field, std::string_view origin,
                              std::size_t line_number) {
  const std::string place = fmt::format("{}, line {}", origin, line_number);
  Json object = parse_json(line, place);
  const auto text = object.is_object() ? object.find(field) : object.end();
  if (!object.is_object() || text == object.end() || !text->is_string()) {
    throw Error(fmt::format("{}: expected an object with a text in the field '{}'", place, field));
  }
  return std::move(text->get_ref<std::string&>());
}

TrainingText::TrainingText(const std::vector<std::string>& sources, std::string text_field)
    : text_field_(std::move(text_field)) {
  for (const fs::path source : sources) {
    if (!fs::exists(source)) throw Error(fmt::format("{} does not exist", source.string()));
    if (fs::is_directory(source)) {
      std::ranges::move(files_below(source), std::back_inserter(files_));
    } else {
      files_.push_back(source);
    }
  }
  for (const fs::path& file : files_) total_bytes_ += fs::file_size(file);
}

bool TrainingText::open_next_file() {
  if (opened_ == files_.size()) return false;
  const fs::path& file = files_[opened_++];
  line_number_ = 0;
  lines_ = std::ifstream();
  if (is_jsonl(file)) {
    lines_.open(file, std::ios::binary);
    if (!lines_) throw Error(fmt::format("cannot open {}", file.string()));
  } else {
    text_ = MappedFile::open(file);
    const auto bytes = text_->bytes();
    rest_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    ++documents_;
  }
  return true;
}

bool TrainingText::next(std::string& document) {
  std::string line;
  while (true) {
    if (!rest_.empty()) {
      const std::size_t cut = kPieceBytes < rest_.size() ? text::safe_cut(rest_, kPieceBytes) : rest_.size();
      document = rest_.substr(0, cut);
      rest_.remove_prefix(cut);
      bytes_read_ += cut;
      return true;
    }
    if (lines_.is_open() && std::getline(lines_, line)) {
      bytes_read_ += line.size() + 1;
      ++line_number_;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      ++documents_;
      document = text_of_json_line(line, text_field_, files_[opened_ - 1].string(), line_number_);
      return true;
    }
    if (!open_next_file()) return false;
  }
}

}  // namespace crope::cli
