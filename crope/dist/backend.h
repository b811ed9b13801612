// The transport of a group: c10d's Gloo between processors, its NCCL between GPUs.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/types.h>

#include <chrono>

#include "crope/dist/launch.h"

namespace c10d {
class Backend;
}

namespace crope::dist {

// Meets the other ranks at launch.address and connects to them. Rank 0 listens there, unless torchrun's agent does.
// Throws Error if they do not come within the timeout, or if this build has nothing for the device.
c10::intrusive_ptr<c10d::Backend> connect_backend(const Launch& launch, torch::Device device,
                                                  std::chrono::milliseconds timeout);

// The address of this machine that others reach it by: the one it reaches `address` from, unless that is a loopback;
// then the first that is not. Empty if there is none.
std::string own_address(const std::string& address);

}  // namespace crope::dist
