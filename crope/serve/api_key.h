// The key that clients must show.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace crope::serve {

class ApiKey {
 public:
  // Throws UsageError if the key is empty or has characters that no header can carry.
  explicit ApiKey(std::string_view key);

  // The first line of a file. Throws Error if it cannot be read.
  static ApiKey read(const std::filesystem::path& path);

  // Whether `authorization`, the value of that header, is "Bearer <key>". Takes the same time whatever the difference
  // is, and whatever the key's length.
  bool admits(std::string_view authorization) const;

 private:
  std::string digest_;
};

}  // namespace crope::serve
