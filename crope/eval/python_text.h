// Python's str, where lm_eval's results depend on its exact rules. All texts are UTF-8.
//
// REQUIRES everywhere: the text is valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crope::eval {

// str.isspace of one character: Unicode's white space and U+001C to U+001F.
bool is_python_space(char32_t character);

// str.strip(), str.rstrip().
std::string_view strip(std::string_view text);
std::string_view strip_right(std::string_view text);

// str.lower(): full mapping, a capital sigma at the end of a word included.
std::string lower(std::string_view text);

// str.capitalize(): the first character in title case ("ß" becomes "Ss"), all others in lower case.
std::string capitalize(std::string_view text);

// str.replace(from, to): left to right, what was put in is not looked at again. REQUIRES: from is not empty.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// len(text): characters, not bytes.
std::size_t character_count(std::string_view text);

// len(re.split(r"\s+", text)): white space at either end makes an empty word there.
std::size_t word_count(std::string_view text);

// str(value) of a float: the shortest digits that read back as the same number, with a point or an exponent.
std::string float_text(double value);

}  // namespace crope::eval
