// Typed values of JSON objects, with one wording for everything that can be wrong with them:
// "config.json: d_model: expected a whole number, found \"wide\"".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crope/base/json.h"

namespace crope {

// "expected <what>, found <value>"; a long value is named by its type. null: the value is missing.
std::string expected_found(std::string_view what, const Json* value);

// The value as T: bool, std::int64_t, std::uint64_t, double or std::string.
// Throws Error "<origin>: <field>: expected ..., found ..." if it has another type or does not fit.
template <typename T>
T json_value(const Json& value, std::string_view field, std::string_view origin);

// The fields of one object.
class JsonFields {
 public:
  // `object` must outlive the reader. `origin` is how messages call it: a path, or a line of a file.
  // `missing_hint` is the hint of the error for a missing field. Throws Error unless `object` is an object.
  JsonFields(const Json& object, std::string origin, std::string missing_hint = {});

  const std::string& origin() const { return origin_; }

  // The value, or null if there is none; JSON's null counts as none.
  const Json* find(std::string_view field) const;

  // Throws Error if the field is missing.
  const Json& at(std::string_view field) const;

  template <typename T>
  T get(std::string_view field) const {
    return json_value<T>(at(field), field, origin_);
  }

  template <typename T>
  T get_or(std::string_view field, T otherwise) const {
    const Json* value = find(field);
    return value == nullptr ? otherwise : json_value<T>(*value, field, origin_);
  }

  // A whole number within [lowest, highest].
  std::int64_t integer(std::string_view field, std::int64_t lowest, std::int64_t highest) const;

  // A field that is an object; messages call it by `origin`.
  JsonFields object(std::string_view field) const;

  // Throws Error "<origin>: <field>: expected <what>, found <value>".
  [[noreturn]] void refuse(std::string_view field, std::string_view what, std::string_view hint = {}) const;

 private:
  const Json& object_;
  std::string origin_;
  std::string missing_hint_;
};

}  // namespace crope
