// Unicode's composed form, which some tokenizers bring texts into first.
#pragma once

#include <string>
#include <string_view>

namespace crope::text {

// NFC of the text; the text itself where it is not valid UTF-8.
std::string compose(std::string_view text);

}  // namespace crope::text
