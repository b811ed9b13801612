// A temporary folder that is removed with the object.
#pragma once

#include <filesystem>
#include <string>

namespace crope {

class ScratchFolder {
 public:
  // Makes the folder below TMPDIR, with a name that begins with `name`. Throws Error if it cannot be made.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace crope
