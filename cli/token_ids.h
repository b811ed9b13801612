// Token ids as people write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace crope::cli {

// Whole numbers from 0 to 2^31 - 1 between white space, commas and brackets: "1,2,3", "[1, 2, 3]".
// Throws UsageError naming the first word that is none.
std::vector<std::int32_t> parse_token_ids(std::string_view text);

}  // namespace crope::cli
