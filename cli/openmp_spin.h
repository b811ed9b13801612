// How long threads that wait for each other keep their processors.
#pragma once

namespace crope::cli {

// libgomp lets a waiting thread spin for milliseconds, so that a program beside ours stops all of our threads and not
// one: on a busy machine a step takes a hundred times as long. The length is read from the environment before main() is
// reached; this sets it, where the user has not, and starts the program again in its place.
// Returns if there is nothing to do or that is not possible.
void bound_openmp_spin(char** argv);

}  // namespace crope::cli
