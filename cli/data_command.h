// The commands inside `crope data`, each in a file of its own.
#pragma once

#include "cli/flags.h"

namespace crope::cli {

void declare_data_synth(Flags& flags);
void declare_data_prepare(Flags& flags);
void declare_data_inspect(Flags& flags);

}  // namespace crope::cli
