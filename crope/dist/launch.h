// Which of how many processes this one is, as the launcher says: torchrun, srun, or a shell loop that sets RANK,
// WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace crope::dist {

struct Launch {
  int rank = 0;
  int size = 1;        // ranks in all
  int local_rank = 0;  // among those of this machine
  int local_size = 1;
  std::string address;  // where the ranks meet; empty in a world of one
  std::uint16_t port = 0;
  bool agent_has_store = false;  // torchrun's agent listens there, and no rank may
  std::string attempt = "0";     // what this start of the group is called: a restart meets under another name
  int given_threads = 0;         // by the launcher or the user; 0: nothing sensible
};

// An environment variable's value, or nothing.
using Environment = std::function<std::optional<std::string>(const char*)>;
std::optional<std::string> process_environment(const char* name);

// A world of one when no launcher is at work. Throws UsageError naming the variable that is missing or makes no sense.
Launch read_launch(const Environment& variable = process_environment);

// The threads of one rank: what was given, or its share of this machine's processors. torchrun's OMP_NUM_THREADS=1
// is its default for Python programs and does not count as given.
int threads_per_rank(const Launch& launch);

}  // namespace crope::dist
