// Removes checkpoints so that a partly removed one is never mistaken for a complete one.
#pragma once

#include <filesystem>
#include <string>

namespace crope::run {

// Removes the folder, if it exists. It loses its name first. Returns why that failed, or an empty text; the folder is
// then unchanged, or its remains have a name that no checkpoint has.
std::string remove_checkpoint(const std::filesystem::path& checkpoint);

// Removes what failed or killed removals have left in the folder of all checkpoints. Never throws.
void sweep_removed_checkpoints(const std::filesystem::path& checkpoints);

}  // namespace crope::run
