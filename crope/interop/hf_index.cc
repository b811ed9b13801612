#include "crope/interop/hf_index.h"

#include <fmt/format.h>

#include <filesystem>

#include "crope/base/error.h"
#include "crope/base/json.h"

namespace crope::interop {

std::map<std::string, std::string> parse_hf_index(std::string_view text, std::string_view origin) {
  const SortedJson json = parse_sorted_json(text, origin);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    throw Error(fmt::format("{}: expected an object 'weight_map'", origin));
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : json["weight_map"].items()) {
    const std::string file = value.is_string() ? value.get<std::string>() : "";
    if (file.empty() || std::filesystem::path(file).filename() != file || file == "." || file == "..") {
      throw Error(fmt::format("{}: weight_map.{}: expected a file name, found {}", origin, name, value.dump()));
    }
    files[name] = file;
  }
  return files;
}

}  // namespace crope::interop
