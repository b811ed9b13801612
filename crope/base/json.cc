#include "crope/base/json.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/file.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::basic_json<>;

namespace crope {
namespace {

constexpr int kDeepestNesting = 64;

template <typename Value>
Value parse(std::string_view text, std::string_view origin) {
  using Event = typename Value::parse_event_t;
  // The parser would let the later of two equal keys win; its callback sees both.
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int depth, Event event, Value& parsed) {
    if (depth > kDeepestNesting) {
      throw Error(fmt::format("{}: JSON nested deeper than {} levels", origin, kDeepestNesting));
    }
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key && !open_objects.back().insert(parsed.template get<std::string>()).second) {
      throw Error(
          fmt::format("{}: the key '{}' stands twice in one object", origin, parsed.template get<std::string>()));
    }
    return true;
  };
  try {
    return Value::parse(text, watch);
  } catch (const typename Value::parse_error& e) {
    throw Error(fmt::format("{}: not valid JSON at byte {}", origin, e.byte), "the text is damaged or was cut off");
  } catch (const typename Value::exception& e) {
    throw Error(fmt::format("{}: not valid JSON: {}", origin, e.what()));
  }
}

}  // namespace

Json parse_json(std::string_view text, std::string_view origin) {
  return parse<Json>(text, origin);
}

SortedJson parse_sorted_json(std::string_view text, std::string_view origin) {
  return parse<SortedJson>(text, origin);
}

Json read_json(const std::filesystem::path& path, std::uint64_t limit) {
  return parse_json(read_file(path, limit), path.string());
}

void write_json(const std::filesystem::path& path, const Json& json) {
  write_file(path, json.dump(2) + "\n");
}

}  // namespace crope
