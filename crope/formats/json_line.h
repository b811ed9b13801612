// One string field of a JSON object that stands on one line: what reading a corpus needs, at the speed it needs. The
// whole line is checked, nothing but the field is built. (nlohmann-json would cost a good part of what tokenizing
// costs; simdjson cannot stand in one program with Arrow, whose libraries carry another version of it under the same
// names.)
#pragma once

#include <string>
#include <string_view>

namespace crope::formats {

enum class JsonFieldKind { string, null, other, missing, not_an_object, malformed };

struct JsonField {
  JsonFieldKind kind;
  std::size_t offset = 0;  // of kind malformed: the byte at which the line stops to be JSON
};

// Looks for `name` in the object `line`, of two equal keys at the first, and decodes its value into `text` if it is a
// string. Malformed is what RFC 8259 does not allow: also bytes that are not UTF-8, half a surrogate pair, anything but
// white space after the value; and nesting deeper than 64.
JsonField find_json_string(std::string_view line, std::string_view name, std::string& text);

}  // namespace crope::formats
