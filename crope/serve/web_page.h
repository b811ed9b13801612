// The page that `crope serve` shows at /: one document with its styles and scripts in it, part of the program. It asks
// for nothing but the server it came from (docs/serving.md).
#pragma once

#include <string_view>

namespace crope::serve {

// UTF-8, to be sent as text/html.
std::string_view index_html();

}  // namespace crope::serve
