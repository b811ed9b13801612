// crope data: the commands about corpora.
#include "cli/data_command.h"

#include "cli/command.h"

namespace crope::cli {
namespace {

void declare(Flags& flags) {
  declare_data_synth(flags);
}

}  // namespace

const Command kDataCommand = {"data", "Make and prepare what models are trained on",
                              "crope data synth --documents 20000 --out out/world", declare};

}  // namespace crope::cli
