// JSON values, and the one place where text becomes them. Keys keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// Compiled once, in json.cc: the library takes ten seconds a file otherwise.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::basic_json<>;

namespace crope {

using Json = nlohmann::ordered_json;

// Limits of a document. Json searches the keys of an object one by one, so its objects are kept small.
struct JsonLimits {
  std::size_t keys = 4096;                    // of one object
  std::size_t values = std::size_t{1} << 20;  // of the document: numbers, texts, truth values, nulls, arrays, objects
};
inline constexpr std::size_t kDeepestJson = 64;

// In time proportional to the text. Throws Error "origin: not valid JSON at byte N" on anything else, on a key that an
// object has twice, on nesting deeper than kDeepestJson, and on a document beyond the limits. `origin` is what messages
// call the text: a path, or a flag.
Json parse_json(std::string_view text, std::string_view origin, const JsonLimits& limits = {});

// Parses an object of many keys: they are kept in alphabetical order and found by a tree.
using SortedJson = nlohmann::json;
inline constexpr JsonLimits kSortedJsonLimits = {.keys = std::size_t{1} << 22, .values = std::size_t{1} << 24};
SortedJson parse_sorted_json(std::string_view text, std::string_view origin,
                             const JsonLimits& limits = kSortedJsonLimits);

// The document without the members of the object that `path` leads to, key by key from the root: `take` gets them
// one by one in their order, of any number. One that is an array or an object comes empty, and is an Error after that.
Json parse_json_members(std::string_view text, std::string_view origin, const std::vector<std::string>& path,
                        const std::function<void(std::string key, const Json& value)>& take);

// The contents of a file of at most `limit` bytes.
Json read_json(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 28);

// Atomically, indented, with a line end.
void write_json(const std::filesystem::path& path, const Json& json);

}  // namespace crope
