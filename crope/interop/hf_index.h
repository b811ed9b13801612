// model.safetensors.index.json of Hugging Face: which file of the folder holds each tensor. Knows no Torch.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace crope::interop {

// File names by tensor. Throws Error naming `origin` if the text is not such an index, or names a file elsewhere: paths
// that lead out of the folder are not followed.
std::map<std::string, std::string> parse_hf_index(std::string_view text, std::string_view origin);

}  // namespace crope::interop
