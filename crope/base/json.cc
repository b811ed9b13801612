#include "crope/base/json.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/file.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace crope {
namespace {

constexpr int kDeepestNesting = 64;

}  // namespace

Json parse_json(std::string_view text, std::string_view origin) {
  // The parser would let the later of two equal keys win; its callback sees both.
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepestNesting) {
      throw Error(fmt::format("{}: JSON nested deeper than {} levels", origin, kDeepestNesting));
    }
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      throw Error(fmt::format("{}: the key '{}' stands twice in one object", origin, parsed.get<std::string>()));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& e) {
    throw Error(fmt::format("{}: not valid JSON at byte {}", origin, e.byte), "the text is damaged or was cut off");
  } catch (const Json::exception& e) {
    throw Error(fmt::format("{}: not valid JSON: {}", origin, e.what()));
  }
}

Json read_json(const std::filesystem::path& path, std::uint64_t limit) {
  return parse_json(read_file(path, limit), path.string());
}

void write_json(const std::filesystem::path& path, const Json& json) {
  write_file(path, json.dump(2) + "\n");
}

}  // namespace crope
