// Products of sums of matrices, added to several places: each target ±= (a_1 ± a_2 …)(b_1 ± b_2 …).
//
// It is what fast schemes for products are made of: Gauss's three real products for a complex one, Strassen's seven
// for the eight of 2 x 2 blocks. Operands are summed while they are laid out for the kernel, and results go from
// registers to all of their places, so that a scheme saves multiplications and adds no pass over memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "crope/ops/cpu/product_kernel.h"

namespace crope::ops::cpu {

// The wanted part of the results. Above the diagonal of a lower triangle the results are undefined.
enum class ResultPart { whole, lower };

// Products of one shape, one after the other, shared out among threads. Any number of threads may call work(), each at
// any time: it takes pieces until none are left, and when all calls have returned, all is done. No thread waits for one
// that has not begun, nor for more than the piece that another is at. Sums are formed in an order that depends on the
// products alone: results are the same to the bit with any number of threads. Neighbours in the list that have the same
// a, or the same b, share its packing.
//
// REQUIRES: targets of two products are the same memory or do not overlap; no operand overlaps a target. What the
// products point to stays until the work is done.
class SumProductRun {
 public:
  // Target rows are `target_stride` floats apart. `threads`: how many are expected.
  SumProductRun(std::int64_t m, std::int64_t n, std::int64_t target_stride, std::span<const SumProduct> products,
                int threads, ResultPart part = ResultPart::whole);

  // Memory that the threads share, in floats, aligned to 64 bytes. To be given before the work begins.
  std::int64_t shared_floats() const { return kBuffers * buffer_floats_; }
  void set_shared(float* memory) { shared_ = memory; }

  void work();

 private:
  static constexpr int kBuffers = 3;  // of packed b: in use, being filled, and still read by a slow thread

  // Columns [column, column + columns) and terms [term, term + terms) of neighbouring products that have the same a.
  struct Stage {
    std::span<const SumProduct> products;
    std::int64_t column, columns, term, terms;
    std::int64_t filling;  // which filling of the buffers it reads
    bool packs;            // or another stage before it has packed the same b
  };
  struct Ticket {
    enum class Kind : std::uint8_t { pack, multiply } kind;
    std::size_t stage;
    std::int64_t piece;
  };

  void plan_stages(std::span<const SumProduct> products, std::int64_t column, std::int64_t columns);
  void plan_tickets();
  std::int64_t padded_columns(const Stage& stage) const;
  std::int64_t pack_pieces(const Stage& stage) const;
  float* buffer_of(const Stage& stage) const { return shared_ + stage.filling % kBuffers * buffer_floats_; }
  void pack(const Ticket& ticket);
  void multiply(const Ticket& ticket, float* packed_a);

  const std::int64_t m_, target_stride_;
  const ResultPart part_;
  const ProductTile tile_;
  const std::int64_t block_rows_, blocks_;
  std::int64_t buffer_floats_ = 0;
  std::vector<Stage> stages_;
  std::vector<Ticket> tickets_;
  float* shared_ = nullptr;
  std::atomic<std::size_t> next_{0};
  std::vector<std::size_t> last_reader_;                 // stage that reads each filling last
  std::vector<std::atomic<std::int64_t>> packed_;        // pieces done of each filling
  std::vector<std::atomic<std::int64_t>> multiplied_;    // blocks done of each stage
  std::vector<std::atomic<std::int64_t>> block_stages_;  // stages done of each block of rows
};

}  // namespace crope::ops::cpu
