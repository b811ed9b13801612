#include "crope/base/scratch_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "crope/base/error.h"

namespace crope {

ScratchFolder::ScratchFolder(const std::string& name) {
  std::string pattern = (std::filesystem::temp_directory_path() / (name + "_XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw Error(fmt::format("cannot make a temporary folder {}: {}", pattern, std::strerror(errno)),
                "set TMPDIR to a folder that can be written to");
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace crope
