#include "crope/formats/shared_safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "crope/base/error.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void throw_shared_file_error(const char* what, const fs::path& path) {
  throw Error(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

void write_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_shared_file_error("write", path);
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

SharedSafetensors::SharedSafetensors(fs::path path, std::vector<TensorSource> tensors)
    : path_(std::move(path)), prefix_(safetensors_prefix(tensors)), size_(prefix_.size()) {
  for (const TensorSource& tensor : tensors) {
    places_.emplace(tensor.name, Place{.begin = size_, .size = data_size(tensor)});
    size_ += data_size(tensor);
  }
}

SharedSafetensors::~SharedSafetensors() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SharedSafetensors::open(int flags) {
  if (descriptor_ >= 0) return;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (descriptor_ < 0) throw_shared_file_error("open", path_);
}

void SharedSafetensors::create() {
  open(O_CREAT | O_EXCL);
  if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) throw_shared_file_error("write", path_);
  write_at(descriptor_, 0, std::as_bytes(std::span(prefix_.data(), prefix_.size())), path_);
}

void SharedSafetensors::write(std::string_view name, std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto place = places_.find(name);
  if (place == places_.end()) throw Error(fmt::format("{}: there is no tensor '{}'", path_.string(), name));
  if (offset > place->second.size || bytes.size() > place->second.size - offset) {
    throw Error(fmt::format("{}: tensor '{}' has {} bytes; {} at {} do not fit", path_.string(), name,
                            place->second.size, bytes.size(), offset));
  }
  open(0);
  write_at(descriptor_, place->second.begin + offset, bytes, path_);
}

void SharedSafetensors::flush() {
  if (descriptor_ < 0) return;
  if (::fsync(descriptor_) != 0) throw_shared_file_error("flush", path_);
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_shared_file_error("write", path_);
}

}  // namespace crope::formats
