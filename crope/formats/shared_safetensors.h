// One safetensors file that several processes write at once, each its own tensors or a stretch of one. The bytes are
// those that write_safetensors would write.
//
// The processes may be on several machines that share the folder by NFS. Such a machine sees what others wrote when it
// opens the file after they closed it, and sends whole pages only if it has read them: so each process opens the file
// for writing only, and flush() closes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crope/formats/safetensors.h"

namespace crope::formats {

class SharedSafetensors {
 public:
  // Every process gives the same names, types and shapes; nothing is asked of their `produce`.
  // Throws Error on a bad name or shape.
  SharedSafetensors(std::filesystem::path path, std::vector<TensorSource> tensors);
  ~SharedSafetensors();

  SharedSafetensors(const SharedSafetensors&) = delete;
  SharedSafetensors& operator=(const SharedSafetensors&) = delete;

  // Makes the file, with its header and its full length. One process does, before any of them writes.
  void create();

  // Writes data of the tensor `name`, from its byte `offset` on. Throws Error if there is no such tensor, if the bytes
  // reach beyond it, and on a full disk.
  void write(std::string_view name, std::uint64_t offset, std::span<const std::byte> bytes);

  // Returns when everything this process wrote is on disk; whoever opens the file afterwards reads it.
  void flush();

 private:
  struct Place {
    std::uint64_t begin;  // in the file
    std::uint64_t size;
  };
  void open(int flags);

  std::filesystem::path path_;
  std::string prefix_;
  std::uint64_t size_ = 0;  // of the file
  std::map<std::string, Place, std::less<>> places_;
  int descriptor_ = -1;
};

}  // namespace crope::formats
