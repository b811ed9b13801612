// A GGUF model in one file or in several ("model-00001-of-00003.gguf"), as one set of keys and tensors.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "crope/formats/gguf.h"

namespace crope::interop {

class GgufFiles {
 public:
  // `path` is the file, or the first of several; the others are found beside it. Throws Error if one is missing, is not
  // the part that its name says, or has a tensor that another has.
  explicit GgufFiles(const std::filesystem::path& path);

  // The file with the keys.
  const formats::GgufFile& head() const { return files_.front(); }

  std::set<std::string> names() const;

  // Null when there is no tensor of that name.
  const formats::GgufTensor* find(const std::string& name) const;

  // Throws Error when there is none.
  const formats::GgufTensor& at(const std::string& name) const;

  // Gives the memory behind a tensor that has been copied back to the system.
  void release(const formats::GgufTensor& tensor) const;

 private:
  std::vector<formats::GgufFile> files_;
};

}  // namespace crope::interop
