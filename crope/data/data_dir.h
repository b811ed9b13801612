// The data directory: token shards of a training and a validation part, and what is known of them (docs/data.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/json.h"
#include "crope/formats/token_shard.h"

namespace crope::data {

struct SplitCounts {
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  std::uint64_t bytes = 0;  // of text
  std::uint64_t shards = 0;
};

// dataset.json. Whoever writes a data directory writes one; shards of others work without.
struct DatasetInfo {
  std::string tokenizer_fingerprint;
  std::int64_t vocab_size = 0;
  std::optional<std::int32_t> end_of_text;  // the token that starts each document
  formats::TokenWidth width = formats::TokenWidth::u16;
  SplitCounts train, val;
  // Sources and options that the shards were made from, as their writer records them. Equal ones mean equal shards.
  Json preparation = Json::object();
};

Json to_json(const DatasetInfo& info);

// Throws Error naming `origin` and the field.
DatasetInfo dataset_info_from_json(const Json& json, const std::string& origin);

struct DataDir {
  std::filesystem::path path;
  std::vector<std::filesystem::path> train, val;  // shards by name
  std::optional<DatasetInfo> info;                // absent when there is no dataset.json
};

// Shards are the files whose names hold "train" or "val" and end in .bin or .npy; a name that holds both is what it
// holds last. Throws Error if the folder does not exist or holds none, or if dataset.json counts other shards than
// there are.
DataDir open_data_dir(const std::filesystem::path& path);

// Whether `path` is a folder with shards in it.
bool holds_shards(const std::filesystem::path& path);

// A hash over the sizes of the shards and samples of their contents: equal for the same shards under any path.
std::string content_fingerprint(const DataDir& dir);

constexpr std::string_view kDatasetFile = "dataset.json";

}  // namespace crope::data
