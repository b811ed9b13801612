#include "crope/data/data_dir.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json_fields.h"

namespace crope::data {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTrain = "train", kVal = "val";
constexpr int kVersion = 1;
constexpr std::int64_t kLargestVocabulary = std::int64_t{1} << 31;

Json counts_to_json(const SplitCounts& counts) {
  return {
      {"documents", counts.documents}, {"tokens", counts.tokens}, {"bytes", counts.bytes}, {"shards", counts.shards}};
}

SplitCounts counts_from_json(const JsonFields& fields) {
  return {fields.get<std::uint64_t>("documents"), fields.get<std::uint64_t>("tokens"),
          fields.get<std::uint64_t>("bytes"), fields.get<std::uint64_t>("shards")};
}

bool is_shard(const fs::directory_entry& entry) {
  const std::string extension = entry.path().extension().string();
  const bool is_hidden = entry.path().filename().string().starts_with('.');
  return !is_hidden && (extension == ".bin" || extension == ".npy") && entry.is_regular_file();
}

void check_shard_count(const DataDir& dir, std::string_view split, std::size_t found, const SplitCounts& counts) {
  if (found == counts.shards) return;
  throw Error(fmt::format("{}: {} counts {} {} shards, the folder holds {}", dir.path.string(), kDatasetFile,
                          counts.shards, split, found),
              "the folder is incomplete, or has files that do not belong to it: prepare it again");
}

}  // namespace

Json to_json(const DatasetInfo& info) {
  return {{"version", kVersion},
          {"tokenizer_fingerprint", info.tokenizer_fingerprint},
          {"vocab_size", info.vocab_size},
          {"end_of_text", info.end_of_text ? Json(*info.end_of_text) : Json(nullptr)},
          {"dtype", formats::token_width_name(info.width)},
          {"train", counts_to_json(info.train)},
          {"val", counts_to_json(info.val)},
          {"preparation", info.preparation}};
}

DatasetInfo dataset_info_from_json(const Json& json, const std::string& origin) {
  const JsonFields fields(json, origin);
  if (fields.get<std::int64_t>("version") != kVersion) {
    fields.refuse("version", std::to_string(kVersion), "it was written by another version of this program");
  }
  DatasetInfo info;
  info.tokenizer_fingerprint = fields.get<std::string>("tokenizer_fingerprint");
  info.vocab_size = fields.integer("vocab_size", 1, kLargestVocabulary);
  if (!fields.at("end_of_text").is_null()) {
    info.end_of_text = static_cast<std::int32_t>(fields.integer("end_of_text", 0, info.vocab_size - 1));
  }
  info.width = formats::token_width_for(info.vocab_size);
  if (fields.get<std::string>("dtype") != formats::token_width_name(info.width)) {
    throw Error(fmt::format("{}: dtype {}, but a vocabulary of {} is stored as {}", origin,
                            fields.get<std::string>("dtype"), info.vocab_size, formats::token_width_name(info.width)));
  }
  info.train = counts_from_json(fields.object(kTrain));
  info.val = counts_from_json(fields.object(kVal));
  info.preparation = fields.at("preparation");
  return info;
}

DataDir open_data_dir(const fs::path& path) {
  if (fs::is_regular_file(path)) {
    throw Error(fmt::format("{}: expected a data directory, found a file", path.string()),
                "make one of its text with 'crope data prepare'");
  }
  if (!fs::is_directory(path)) {
    throw Error(fmt::format("{}: no such folder", path.string()), "make one with 'crope data prepare'");
  }
  DataDir dir{.path = path, .train = {}, .val = {}, .info = {}};
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!is_shard(entry)) continue;
    const std::string name = entry.path().filename().string();
    const std::size_t train_at = name.rfind(kTrain), val_at = name.rfind(kVal);
    if (train_at == val_at) continue;  // neither
    const bool is_train = val_at == std::string::npos || (train_at != std::string::npos && train_at > val_at);
    (is_train ? dir.train : dir.val).push_back(entry.path());
  }
  std::ranges::sort(dir.train);
  std::ranges::sort(dir.val);
  if (dir.train.empty() && dir.val.empty()) {
    throw Error(fmt::format("{}: no shards found (*train*.bin, *val*.bin, or .npy)", path.string()),
                "make them with 'crope data prepare'");
  }
  const fs::path info = path / kDatasetFile;
  if (fs::exists(info)) {
    dir.info = dataset_info_from_json(read_json(info), info.string());
    check_shard_count(dir, kTrain, dir.train.size(), dir.info->train);
    check_shard_count(dir, kVal, dir.val.size(), dir.info->val);
  }
  return dir;
}

bool holds_shards(const fs::path& path) {
  if (!fs::is_directory(path)) return false;
  return std::ranges::any_of(fs::directory_iterator(path), is_shard);
}

std::string content_fingerprint(const DataDir& dir) {
  // Enough to tell corpora apart, little enough to read from a disk at every start.
  constexpr std::size_t kSamples = 64, kSampleBytes = 4096;
  std::uint64_t hash = 0;
  for (const auto* shards : {&dir.train, &dir.val}) {
    for (const fs::path& path : *shards) {
      const auto file = MappedFile::open(path);
      const std::span<const std::byte> bytes = file->bytes();
      const std::uint64_t size = bytes.size();
      hash = content_hash(std::as_bytes(std::span(&size, 1)), hash);
      for (std::size_t i = 0; i < kSamples; ++i) {
        const std::size_t begin = bytes.size() * i / kSamples;
        hash = content_hash(bytes.subspan(begin, std::min(kSampleBytes, bytes.size() - begin)), hash);
      }
    }
    hash = content_hash({}, hash);  // where training ends and validation begins
  }
  return hash_text(hash);
}

}  // namespace crope::data
