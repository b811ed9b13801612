// How many threads this process should use.
#pragma once

namespace crope {

// The processors this process may really use: its affinity mask, cut down by a container's quota. At least 1.
int available_processors();

// `requested`, or available_processors() when it is 0. Throws UsageError if it is negative or absurdly large.
int resolve_thread_count(int requested);

}  // namespace crope
