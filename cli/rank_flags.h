// The ranks of a command that several processes carry out together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/flags.h"
#include "crope/base/log.h"
#include "crope/dist/process_group.h"

namespace crope::cli {

struct RankFlags {
  std::int64_t timeout = 300;  // seconds
};

void declare_rank_flags(Flags& flags, RankFlags& values);

// stderr on the first rank, null on the others: they print errors only.
std::FILE* log_stream(const dist::Launch& launch);

// Connects to the other ranks, of which there may be none. Logs their number, and the share that each has of this
// machine. `device` is where tensors are.
std::shared_ptr<dist::ProcessGroup> join_ranks(const dist::Launch& launch, const RankFlags& values,
                                               const std::string& device, std::int64_t threads, Log& log);

}  // namespace crope::cli
