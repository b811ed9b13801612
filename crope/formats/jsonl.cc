#include "crope/formats/jsonl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/formats/json_line.h"

namespace crope::formats {
namespace {

constexpr std::size_t kReadBufferBytes = std::size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::size_t kMostNames = 20;  // in a message

// "; there are: id, body" of an object that has fields.
std::string fields_there_are(std::string_view line) {
  try {
    const Json object = parse_json(line, "line");
    std::string names;
    std::size_t count = 0;
    for (const auto& [name, value] : object.items()) {
      if (count++ == kMostNames) return names + ", ...";
      names += (count == 1 ? "; there are: " : ", ") + name;
    }
    return names;
  } catch (const Error&) {
    return {};  // more than anybody would read
  }
}

}  // namespace

LineReader::LineReader(InputStream stream, std::size_t longest_line)
    : stream_(std::move(stream)), longest_line_(longest_line), buffer_(kReadBufferBytes) {}

// Moves what is left to the front, makes room and reads more. False at the end of the file.
bool LineReader::refill() {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= std::exchange(begin_, 0);
  if (end_ > longest_line_) {
    throw Error(
        fmt::format("{}:{}: a line of more than {} bytes", stream_.path().string(), line_number_ + 1, longest_line_),
        "is this file really made of lines?");
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t got = stream_.read(std::span(buffer_).subspan(end_));
  end_ += got;
  return got > 0;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0;
  std::size_t length = 0;
  std::size_t end_length = 0;
  while (true) {
    const char* rest = buffer_.data() + begin_;
    const void* newline = std::memchr(rest + searched, '\n', end_ - begin_ - searched);
    if (newline != nullptr) {
      length = static_cast<std::size_t>(static_cast<const char*>(newline) - rest);
      end_length = 1;
      break;
    }
    searched = end_ - begin_;
    if (refill()) continue;
    if (searched == 0) return std::nullopt;
    length = searched;
    break;
  }
  std::string_view line(buffer_.data() + begin_, length);
  begin_ += length + end_length;
  if (line_number_++ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

JsonlReader::JsonlReader(InputStream stream, std::string field, std::size_t longest_line)
    : lines_(std::move(stream), longest_line), field_(std::move(field)) {}

std::optional<JsonlRow> JsonlReader::next() {
  std::optional<std::string_view> line = lines_.next();
  while (line && line->find_first_not_of(" \t\r") == std::string_view::npos) line = lines_.next();
  if (!line) return std::nullopt;

  const auto bad = [&](std::string_view what) {
    return JsonlRow{.kind = JsonlRow::Kind::bad,
                    .text = {},
                    .problem = fmt::format("{}:{}: {}", lines_.stream().path().string(), lines_.line_number(), what)};
  };
  const JsonField found = find_json_string(*line, field_, text_);
  switch (found.kind) {
    case JsonFieldKind::string:
      return JsonlRow{.kind = JsonlRow::Kind::text, .text = text_, .problem = {}};
    case JsonFieldKind::null:
      return JsonlRow{.kind = JsonlRow::Kind::null, .text = {}, .problem = {}};
    case JsonFieldKind::other:
      return bad(fmt::format("the field '{}' is not a string", field_));
    case JsonFieldKind::missing:
      return bad(fmt::format("there is no field '{}'{}", field_, fields_there_are(*line)));
    case JsonFieldKind::not_an_object:
      return bad("expected a JSON object");
    case JsonFieldKind::malformed:
      break;
  }
  return bad(fmt::format("not valid JSON at byte {} of the line", found.offset + 1));
}

}  // namespace crope::formats
