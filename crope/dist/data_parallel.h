// Gradients of ranks that each have rows of their own, summed in buckets while the backward pass is still at work.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "crope/dist/process_group.h"

namespace crope::dist {

struct BucketOptions {
  std::int64_t first_bytes = std::int64_t{1} << 20;  // small, so that something is under way early
  std::int64_t bytes = std::int64_t{25} << 20;
};

// Buckets are filled from the last parameter to the first, as the backward pass comes to them, and sent in that order
// on every rank. Sums are made in the gradients' own type, fp32. In a world of one nothing is touched.
class GradientReducer {
 public:
  // `parameters` are leaves that ask for gradients, in the order of the forward pass. Each may have one reducer.
  GradientReducer(std::shared_ptr<ProcessGroup> group, std::vector<torch::Tensor> parameters,
                  const BucketOptions& options = {});
  ~GradientReducer();

  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // From here on a gradient is sent as soon as a backward pass has added to it: call it before the last of the passes
  // whose gradients add up.
  void begin();

  // Waits until .grad() of every parameter is the sum over ranks. A parameter without a gradient has zeros then.
  // Throws Error if another rank has gone.
  void finish();

  std::size_t buckets() const { return buckets_.size(); }

 private:
  struct Hook;
  struct Place {
    std::size_t bucket;
    torch::Tensor slice;  // of the bucket, in the parameter's shape
    bool is_ready = false;
  };
  struct Bucket {
    torch::Tensor values;
    std::size_t parameters = 0;
    std::size_t missing = 0;
    Pending sum;
  };

  void take(std::size_t parameter);
  void send_full_buckets();

  std::shared_ptr<ProcessGroup> group_;
  std::vector<torch::Tensor> parameters_;
  std::vector<Place> places_;  // of each parameter
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  // the first bucket that is not sent
  bool is_sending_ = false;
};

}  // namespace crope::dist
