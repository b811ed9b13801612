#include "crope/dist/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "crope/base/error.h"
#include "crope/base/threads.h"

namespace crope::dist {
namespace {

constexpr const char* kHowToLaunch =
    "start with torchrun --no-python crope ..., or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT "
    "(docs/distributed.md)";

// The number that a text begins with; Slurm writes "2(x3)".
std::optional<int> leading_number(const std::string& text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return {};
  return value;
}

class LaunchReader {
 public:
  explicit LaunchReader(const Environment& variable) : variable_(variable) {}

  std::optional<int> number(const char* name, int least, int most) const {
    const auto text = variable_(name);
    if (!text) return {};
    int value = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, code] = std::from_chars(text->data(), end, value);
    if (code != std::errc() || stop != end || value < least || value > most) {
      throw UsageError(fmt::format("{}={}: expected a whole number from {} to {}", name, *text, least, most),
                       kHowToLaunch);
    }
    return value;
  }

  int required(const char* name, int least, int most) const {
    const auto value = number(name, least, most);
    if (!value) throw UsageError(fmt::format("the environment variable {} is missing", name), kHowToLaunch);
    return *value;
  }

  // Where the ranks meet.
  void read_address(Launch& launch) const {
    const auto address = variable_("MASTER_ADDR");
    if (!address || address->empty()) {
      throw UsageError(
          fmt::format("rank {} of {}: the environment variable MASTER_ADDR is missing", launch.rank, launch.size),
          kHowToLaunch);
    }
    launch.address = *address;
    launch.port = static_cast<std::uint16_t>(required("MASTER_PORT", 1, 65535));
  }

  // RANK and WORLD_SIZE: torchrun, or a shell.
  Launch read_plain() const {
    Launch launch;
    launch.size = required("WORLD_SIZE", 1, kMostRanks);
    launch.rank = required("RANK", 0, launch.size - 1);
    if (launch.size == 1) return launch;
    read_address(launch);
    const bool is_local = launch.address == "localhost" || launch.address.starts_with("127.");
    launch.local_size = number("LOCAL_WORLD_SIZE", 1, launch.size).value_or(is_local ? launch.size : 1);
    launch.local_rank = number("LOCAL_RANK", 0, launch.local_size - 1).value_or(is_local ? launch.rank : 0);
    launch.agent_has_store = variable_("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
    launch.attempt = fmt::format("{}/{}", variable_("TORCHELASTIC_RUN_ID").value_or("none"),
                                 variable_("TORCHELASTIC_RESTART_COUNT").value_or("0"));
    return launch;
  }

  // SLURM_PROCID and SLURM_NTASKS, which a batch script also has that starts no ranks: MASTER_ADDR makes the
  // difference.
  Launch read_slurm() const {
    Launch launch;
    launch.size = required("SLURM_NTASKS", 1, kMostRanks);
    launch.rank = required("SLURM_PROCID", 0, launch.size - 1);
    if (launch.size == 1) return launch;
    read_address(launch);
    const auto tasks = variable_("SLURM_STEP_TASKS_PER_NODE");
    launch.local_size = std::clamp(leading_number(tasks.value_or("1")).value_or(1), 1, launch.size);
    launch.local_rank = number("SLURM_LOCALID", 0, launch.size - 1).value_or(0);
    launch.attempt = variable_("SLURM_JOB_ID").value_or("0");
    launch.given_threads = number("SLURM_CPUS_PER_TASK", 1, kMostRanks).value_or(0);
    return launch;
  }

  Launch read() const {
    Launch launch;
    if (variable_("RANK") || variable_("WORLD_SIZE")) {
      launch = read_plain();
    } else if (variable_("SLURM_PROCID") && variable_("MASTER_ADDR")) {
      launch = read_slurm();
    } else if (number("SLURM_STEP_NUM_TASKS", 1, kMostRanks).value_or(1) > 1) {
      throw UsageError("srun has started several tasks, but MASTER_ADDR and MASTER_PORT do not say where they meet",
                       "export both before srun (docs/distributed.md), or start one task");
    }
    const auto threads = variable_("OMP_NUM_THREADS");
    if (threads && *threads != "1") launch.given_threads = leading_number(*threads).value_or(0);
    return launch;
  }

 private:
  static constexpr int kMostRanks = 1 << 20;

  const Environment& variable_;
};

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return {};
  return value;
}

Launch read_launch(const Environment& variable) {
  return LaunchReader(variable).read();
}

int threads_per_rank(const Launch& launch) {
  if (launch.given_threads > 0) return std::min(launch.given_threads, available_processors());
  return std::max(1, available_processors() / launch.local_size);
}

}  // namespace crope::dist
