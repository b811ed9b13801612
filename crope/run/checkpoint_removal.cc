#include "crope/run/checkpoint_removal.h"

#include <fmt/format.h>

#include <string_view>

namespace crope::run {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kRemoved = ".removed";

}  // namespace

std::string remove_checkpoint(const fs::path& checkpoint) {
  std::error_code code;
  if (!fs::exists(fs::symlink_status(checkpoint, code))) return {};
  const fs::path removed = checkpoint.parent_path() / fmt::format(".{}{}", checkpoint.filename().string(), kRemoved);
  fs::remove_all(removed, code);
  fs::rename(checkpoint, removed, code);
  if (!code) fs::remove_all(removed, code);
  if (!code) return {};
  return fmt::format("cannot remove the old checkpoint {}: {}", checkpoint.string(), code.message());
}

void sweep_removed_checkpoints(const fs::path& checkpoints) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(checkpoints, code)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') && name.ends_with(kRemoved)) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace crope::run
