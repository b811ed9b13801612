// Completion scripts for shells, and the man page: text made from the table of commands.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace crope::cli {

// The text of `crope --generate KIND`: "man" (a page for section 1), or the script of a shell: "bash", "zsh", "fish".
// Throws UsageError for another kind.
std::string generate(const std::string& kind, const CommandEntry& root, const std::string& version);

}  // namespace crope::cli
