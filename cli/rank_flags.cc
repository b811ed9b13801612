#include "cli/rank_flags.h"

#include <fmt/format.h>

#include "crope/base/error.h"

namespace crope::cli {

void declare_rank_flags(Flags& flags, RankFlags& values) {
  flags.option("--rank-timeout", values.timeout,
               "Seconds to wait for an unresponsive rank before failing (torchrun, srun)");
}

std::FILE* log_stream(const dist::Launch& launch) {
  return launch.rank == 0 ? stderr : nullptr;
}

std::shared_ptr<dist::ProcessGroup> join_ranks(const dist::Launch& launch, const RankFlags& values,
                                               const std::string& device, std::int64_t threads, Log& log) {
  constexpr std::int64_t kLongest = 7 * 24 * 3600;
  if (values.timeout < 1 || values.timeout > kLongest) {
    throw UsageError(fmt::format("--rank-timeout {}: expected seconds from 1 to {}", values.timeout, kLongest));
  }
  auto group = std::make_shared<dist::ProcessGroup>(
      launch, dist::GroupOptions{.timeout = std::chrono::seconds(values.timeout), .device = torch::Device(device)});
  if (launch.size > 1) {
    const auto forced = dist::process_environment("OMP_NUM_THREADS");
    log.info(fmt::format("{} ranks, {} on this machine, {} thread{} each{}", launch.size, launch.local_size, threads,
                         threads == 1 ? "" : "s",
                         forced == "1" && threads != 1 ? " (torchrun's OMP_NUM_THREADS=1 is not followed)" : ""));
  }
  return group;
}

}  // namespace crope::cli
