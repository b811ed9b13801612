#include "crope/base/json_fields.h"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "crope/base/error.h"

namespace crope {
namespace {

constexpr std::size_t kLongestShown = 60;  // bytes of a value in a message

template <typename T>
constexpr const char* kExpected = "";
template <>
constexpr const char* kExpected<bool> = "true or false";
template <>
constexpr const char* kExpected<std::int64_t> = "a whole number";
template <>
constexpr const char* kExpected<std::uint64_t> = "a whole number from 0";
template <>
constexpr const char* kExpected<double> = "a number";
template <>
constexpr const char* kExpected<std::string> = "a string";

template <typename T>
bool fits(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.is_boolean();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.is_string();
  } else if constexpr (std::is_same_v<T, double>) {
    return value.is_number();
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return value.is_number_unsigned();
  } else {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > kMost);
  }
}

}  // namespace

std::string expected_found(std::string_view what, const Json* value) {
  if (value == nullptr) return fmt::format("expected {}, found nothing", what);
  const std::string shown = value->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > kLongestShown) return fmt::format("expected {}, found a long {}", what, value->type_name());
  return fmt::format("expected {}, found {}", what, shown);
}

template <typename T>
T json_value(const Json& value, std::string_view field, std::string_view origin) {
  if (fits<T>(value)) return value.get<T>();
  throw Error(fmt::format("{}: {}: {}", origin, field, expected_found(kExpected<T>, &value)));
}

template bool json_value<bool>(const Json&, std::string_view, std::string_view);
template std::int64_t json_value<std::int64_t>(const Json&, std::string_view, std::string_view);
template std::uint64_t json_value<std::uint64_t>(const Json&, std::string_view, std::string_view);
template double json_value<double>(const Json&, std::string_view, std::string_view);
template std::string json_value<std::string>(const Json&, std::string_view, std::string_view);

JsonFields::JsonFields(const Json& object, std::string origin, std::string missing_hint)
    : object_(object), origin_(std::move(origin)), missing_hint_(std::move(missing_hint)) {
  if (!object.is_object()) throw Error(fmt::format("{}: {}", origin_, expected_found("a JSON object", &object)));
}

const Json* JsonFields::find(std::string_view field) const {
  const auto found = object_.find(field);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json& JsonFields::at(std::string_view field) const {
  const auto found = object_.find(field);
  if (found == object_.end()) throw Error(fmt::format("{}: the field '{}' is missing", origin_, field), missing_hint_);
  return *found;
}

std::int64_t JsonFields::integer(std::string_view field, std::int64_t lowest, std::int64_t highest) const {
  const auto value = get<std::int64_t>(field);
  if (value < lowest || value > highest) refuse(field, fmt::format("a number from {} to {}", lowest, highest));
  return value;
}

JsonFields JsonFields::object(std::string_view field) const {
  return JsonFields(at(field), fmt::format("{}: {}", origin_, field), missing_hint_);
}

void JsonFields::refuse(std::string_view field, std::string_view what, std::string_view hint) const {
  throw Error(fmt::format("{}: {}: {}", origin_, field, expected_found(what, find(field))), std::string(hint));
}

}  // namespace crope
