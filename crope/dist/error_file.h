// How a rank tells torchrun what it died of.
#pragma once

#include <string>

#include "crope/dist/launch.h"

namespace crope::dist {

// Writes the message to the file that TORCHELASTIC_ERROR_FILE names, for torchrun to show; does nothing without one,
// and never throws: there is an error on its way already.
void write_error_file(const std::string& message, const Environment& variable = process_environment) noexcept;

}  // namespace crope::dist
