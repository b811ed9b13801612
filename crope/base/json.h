// JSON values, and the one place where text becomes them. Keys keep their order.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

// Compiled once, in json.cc: the library takes ten seconds a file otherwise.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::basic_json<>;

namespace crope {

using Json = nlohmann::ordered_json;

// Throws Error "origin: not valid JSON at byte N" on anything else, on a key that an object has twice, and on nesting
// deeper than 64. `origin` is what messages call the text: a path, or a flag.
Json parse_json(std::string_view text, std::string_view origin);

// The same with keys in alphabetical order, found by a tree: for objects of many keys, which Json searches one by one.
using SortedJson = nlohmann::json;
SortedJson parse_sorted_json(std::string_view text, std::string_view origin);

// The contents of a file of at most `limit` bytes.
Json read_json(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 28);

// Atomically, indented, with a line end.
void write_json(const std::filesystem::path& path, const Json& json);

}  // namespace crope
