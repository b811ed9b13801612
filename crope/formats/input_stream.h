// A file read once from front to back, decompressed on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace crope::formats {

// Plain bytes, or gzip (.gz) or Zstandard (.zst) by the ending of the name, also of several members or frames one
// after another. Not safe for concurrent use.
class InputStream {
 public:
  // "-" is the standard input, read as it is. Throws Error if the file cannot be opened or is a folder.
  static InputStream open(const std::filesystem::path& path);

  InputStream(InputStream&&) noexcept;
  InputStream& operator=(InputStream&&) noexcept;
  ~InputStream();

  // Fills `out` from its beginning; fewer bytes than it has, and 0 when asked again, only at the end.
  // Throws Error naming the file, and the place in it, if it is damaged or cut off.
  std::size_t read(std::span<char> out);

  // Bytes taken from the file so far, before decompression: what progress is measured by.
  std::uint64_t consumed() const;

  const std::filesystem::path& path() const;  // "<stdin>" for the standard input

 private:
  struct State;
  explicit InputStream(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace crope::formats
