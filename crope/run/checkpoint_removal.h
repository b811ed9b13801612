// Removes checkpoints so that no part of one is ever taken for a whole.
#pragma once

#include <filesystem>
#include <string>

namespace crope::run {

// Removes the folder, if it exists. It loses its name first. Returns why that failed, or an empty text; the folder is
// then as it was, or what is left of it has a name that is not a checkpoint's.
std::string remove_checkpoint(const std::filesystem::path& checkpoint);

// Removes what failed or killed removals have left in the folder of all checkpoints. Never throws.
void sweep_removed_checkpoints(const std::filesystem::path& checkpoints);

}  // namespace crope::run
