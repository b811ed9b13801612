// Writes GGUF files, one tensor at a time (gguf.h).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "crope/formats/gguf.h"

namespace crope::formats {

// A tensor to be written. `produce` is called once, when the writer has come to it, and hands its bytes over in one
// or several pieces; so a converted tensor exists only while it is being written.
struct GgufTensorSource {
  using Sink = std::function<void(std::span<const std::byte>)>;

  std::string name;
  GgmlType type;
  std::vector<std::int64_t> shape;  // in C order
  std::function<void(const Sink&)> produce;
};

// Writes version 3, keys and tensors in the order given, tensors aligned to general.alignment if `metadata` has it
// and to 32 bytes otherwise. Atomic: the file gets its name when it is complete.
// Throws Error on names, values or shapes that a reader would refuse, when `produce` gives another number of bytes
// than the shape says, and when the disk is full; what had the name before stays then.
void write_gguf(const std::filesystem::path& path, const GgufMetadata& metadata,
                const std::vector<GgufTensorSource>& tensors);

}  // namespace crope::formats
