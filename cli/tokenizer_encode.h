// crope tokenizer encode and decode: between standard input and standard output.
#pragma once

#include "cli/flags.h"

namespace crope::cli {

void declare_tokenizer_encode(Flags& flags);
void declare_tokenizer_decode(Flags& flags);

}  // namespace crope::cli
