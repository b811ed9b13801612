// The best speeds of this machine: the yardsticks of every other figure.
#pragma once

namespace crope::study {

struct MachineSpeed {
  double gemm_flops;   // a second, of a large fp32 product on all threads
  double read_bytes;   // a second, from memory, all threads reading
  double write_bytes;  // a second, to memory, all threads writing
};

// Bytes a second of the best of some passes over a large array by all threads: what reading memory gives.
double read_bandwidth(int passes);

// The best of a few, with as many threads as ATen has; about a second.
MachineSpeed measure_machine();

}  // namespace crope::study
