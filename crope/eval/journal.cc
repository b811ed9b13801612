#include "crope/eval/journal.h"

#include <fmt/format.h>

#include <algorithm>
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
    if (response.is_greedy.size() != response.log_likelihoods.size()) return std::nullopt;
    return std::pair(json.at("key").get<std::string>(), std::move(response));
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
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

Journal::Journal(const fs::path& path) : file_(path) {
  formats::LineReader lines(formats::InputStream::open(path));
  while (const auto line = lines.next()) {
    auto entry = from_line(*line);
    if (entry) found_.insert_or_assign(std::move(entry->first), std::move(entry->second));
  }
  if (!file_.ends_with_line()) file_.write("\n");
}

std::optional<Response> Journal::find(const ItemKey& key) const {
  const auto found = found_.find(key);
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

void Journal::add(const ItemKey& key, const Response& response) {
  file_.write(to_json(key, response).dump() + "\n");
}

std::string model_fingerprint(const fs::path& model_dir) {
  std::string text;
  for (const char* name : {"config.json", "model.safetensors"}) {
    text += hash_text(hash_file(model_dir / name));
  }
  return text;
}

}  // namespace crope::eval
