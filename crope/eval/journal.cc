#include "crope/eval/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/formats/jsonl.h"

namespace crope::eval {
namespace fs = std::filesystem;
namespace {

Json to_json(const ItemKey& key, const Response& response) {
  return {{"key", key},
          {"log_likelihoods", response.log_likelihoods},
          {"is_greedy", response.is_greedy},
          {"text", response.text}};
}

// Nothing if the line is damaged.
std::optional<std::pair<ItemKey, Response>> from_line(std::string_view line) {
  try {
    const Json json = parse_json(line, "journal");
    Response response{.log_likelihoods = json.at("log_likelihoods").get<std::vector<double>>(),
                      .is_greedy = json.at("is_greedy").get<std::vector<bool>>(),
                      .text = json.at("text").get<std::string>()};
    return std::pair(json.at("key").get<std::string>(), std::move(response));
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void write_all(int descriptor, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(fmt::format("{}: cannot write: {}", path.string(), std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Block by block, so that the file is never in memory as a whole, beside the weights that were read from it.
std::uint64_t hash_file(const fs::path& path) {
  constexpr std::size_t kBlock = std::size_t{1} << 24;
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  std::uint64_t hash = 0;
  for (std::span<const std::byte> rest = file->bytes(); !rest.empty();) {
    const std::span<const std::byte> block = rest.first(std::min(kBlock, rest.size()));
    hash = content_hash(block, hash);
    file->release(block);
    rest = rest.subspan(block.size());
  }
  return hash;
}

}  // namespace

Journal::Journal(fs::path path) : path_(std::move(path)) {
  if (fs::exists(path_)) {
    formats::LineReader lines(formats::InputStream::open(path_));
    while (const auto line = lines.next()) {
      auto entry = from_line(*line);
      if (entry) found_.insert_or_assign(std::move(entry->first), std::move(entry->second));
    }
  }
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw Error(fmt::format("{}: cannot write: {}", path_.string(), std::strerror(errno)));
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(descriptor_, &last, 1, size - 1) == 1 && last != '\n') write_all(descriptor_, "\n", path_);
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<Response> Journal::find(const ItemKey& key) const {
  const auto found = found_.find(key);
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

void Journal::add(const ItemKey& key, const Response& response) {
  write_all(descriptor_, to_json(key, response).dump() + "\n", path_);
}

std::string model_fingerprint(const fs::path& model_dir) {
  std::string text;
  for (const char* name : {"config.json", "model.safetensors"}) {
    text += hash_text(hash_file(model_dir / name));
  }
  return text;
}

}  // namespace crope::eval
