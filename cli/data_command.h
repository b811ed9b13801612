// The commands inside `crope data`, each in its own file.
#pragma once

#include "cli/flags.h"

namespace crope::cli {

void declare_data_synth(Flags& data);

}  // namespace crope::cli
