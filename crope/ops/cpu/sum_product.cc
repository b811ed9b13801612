#include "crope/ops/cpu/sum_product.h"

#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>

#include <algorithm>
#include <thread>

#include "crope/base/rounding.h"

namespace crope::ops::cpu {
namespace {

// A panel of b, kMostPassTerms x tile columns, is as large as the first cache, and few rows of a pass by it; a block of
// a, tile.block_rows x kMostPassTerms, leaves most of the second cache to what is read ahead; a stage of b fits the
// third.
constexpr std::int64_t kMostPassTerms = 512;
constexpr std::int64_t kPackPanels = 8;  // of b, a piece

// The terms of a stage that are multiplied at a time, the last time fewer.
std::int64_t terms_of_pass(std::int64_t stage_terms) {
  return round_up(even_piece(stage_terms, kMostPassTerms), 8);
}

// Blocks of whole tiles, of at most tile.block_rows rows, and four for each thread where there are enough rows.
std::int64_t rows_of_block(std::int64_t m, const ProductTile& tile, int threads) {
  const std::int64_t most = std::clamp(m / (4 * threads), tile.rows, tile.block_rows - tile.rows);
  return round_up(even_piece(m, most), tile.rows);
}

void wait_for(const std::atomic<std::int64_t>& value, std::int64_t least) {
  for (int i = 0; value.load(std::memory_order_acquire) < least; ++i) {
    if (i < 4096) {
      hwy::Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace

SumProductRun::SumProductRun(std::int64_t m, std::int64_t n, std::int64_t target_stride,
                             std::span<const SumProduct> products, int threads, ResultPart part)
    : m_(m),
      target_stride_(target_stride),
      part_(part),
      tile_(product_tile()),
      block_rows_(rows_of_block(m, tile_, threads)),
      blocks_(divide_up(m, block_rows_)),
      block_stages_(static_cast<std::size_t>(blocks_)) {
  std::int64_t longest = 1;
  for (const SumProduct& product : products) longest = std::max(longest, std::min(product.k, tile_.stage_terms));
  const std::int64_t columns = round_up(even_piece(n, tile_.stage_floats / longest), tile_.columns);
  for (std::int64_t column = 0; column < n; column += columns) {
    plan_stages(products, column, std::min(columns, n - column));
  }
  for (const Stage& stage : stages_) {
    const auto count = static_cast<std::int64_t>(stage.products.size());
    buffer_floats_ = std::max(buffer_floats_, round_up(count * padded_columns(stage) * stage.terms, 16));
  }
  packed_ = std::vector<std::atomic<std::int64_t>>(last_reader_.size());
  multiplied_ = std::vector<std::atomic<std::int64_t>>(stages_.size());
  plan_tickets();
}

void SumProductRun::plan_stages(std::span<const SumProduct> products, std::int64_t column, std::int64_t columns) {
  // How many products at the front of the list have the same operand.
  const auto sharing = [&](auto operand) {
    std::size_t count = 1;
    while (count < products.size() && products[count].k == products[0].k &&
           products[count].*operand == products[0].*operand) {
      ++count;
    }
    return count;
  };
  while (!products.empty()) {
    const std::int64_t k = products[0].k, step = even_piece(k, tile_.stage_terms);
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(1, tile_.stage_floats / (step * columns)));
    const std::size_t sharing_a = std::min(sharing(&SumProduct::a), room), sharing_b = sharing(&SumProduct::b);
    const std::size_t count = std::max(sharing_a, sharing_b), stage_products = sharing_a >= sharing_b ? count : 1;
    for (std::int64_t term = 0; term < k; term += step) {
      for (std::size_t i = 0; i < count; i += stage_products) {
        if (i == 0) last_reader_.emplace_back();
        last_reader_.back() = stages_.size();
        stages_.push_back({.products = products.subspan(i, stage_products),
                           .column = column,
                           .columns = columns,
                           .term = term,
                           .terms = std::min(step, k - term),
                           .filling = static_cast<std::int64_t>(last_reader_.size()) - 1,
                           .packs = i == 0});
      }
    }
    products = products.subspan(count);
  }
}

// Each stage is packed while the one before it is multiplied.
void SumProductRun::plan_tickets() {
  const auto add = [&](Ticket::Kind kind, std::size_t stage, std::int64_t pieces) {
    for (std::int64_t piece = 0; piece < pieces; ++piece) tickets_.push_back({kind, stage, piece});
  };
  for (std::size_t stage = 0; stage <= stages_.size(); ++stage) {
    if (stage < stages_.size() && stages_[stage].packs) add(Ticket::Kind::pack, stage, pack_pieces(stages_[stage]));
    if (stage > 0) add(Ticket::Kind::multiply, stage - 1, blocks_);
  }
}

std::int64_t SumProductRun::padded_columns(const Stage& stage) const {
  return round_up(stage.columns, tile_.columns);
}

std::int64_t SumProductRun::pack_pieces(const Stage& stage) const {
  return static_cast<std::int64_t>(stage.products.size()) * divide_up(stage.columns, kPackPanels * tile_.columns);
}

// Packed operands of a stage's products follow each other; each of them has its passes one after the other.
void SumProductRun::pack(const Ticket& ticket) {
  const Stage& stage = stages_[ticket.stage];
  const auto filling = static_cast<std::size_t>(stage.filling);
  if (filling >= kBuffers) wait_for(multiplied_[last_reader_[filling - kBuffers]], blocks_);
  const std::int64_t pieces = divide_up(stage.columns, kPackPanels * tile_.columns);
  const std::int64_t product = ticket.piece / pieces, first = ticket.piece % pieces * kPackPanels * tile_.columns;
  const std::int64_t count = std::min(kPackPanels * tile_.columns, stage.columns - first);
  const std::int64_t padded = padded_columns(stage), pass = terms_of_pass(stage.terms);
  float* buffer = buffer_of(stage) + product * padded * stage.terms;
  for (std::int64_t k = 0; k < stage.terms; k += pass) {
    const std::int64_t terms = std::min(pass, stage.terms - k);
    pack_right(stage.products[static_cast<std::size_t>(product)].b,
               {stage.column + first, count, stage.term + k, terms}, buffer + k * padded + first * terms);
  }
  packed_[filling].fetch_add(1, std::memory_order_release);
}

void SumProductRun::multiply(const Ticket& ticket, float* packed_a) {
  const Stage& stage = stages_[ticket.stage];
  auto& block_stages = block_stages_[static_cast<std::size_t>(ticket.piece)];
  wait_for(packed_[static_cast<std::size_t>(stage.filling)], pack_pieces(stage));
  wait_for(block_stages, static_cast<std::int64_t>(ticket.stage));
  const std::int64_t row = ticket.piece * block_rows_, rows = std::min(block_rows_, m_ - row);
  const std::int64_t padded = padded_columns(stage), pass = terms_of_pass(stage.terms);
  const std::int64_t columns =
      part_ == ResultPart::whole ? stage.columns : std::min(stage.columns, row + rows - stage.column);
  const Triangles triangles = part_ == ResultPart::whole ? Triangles{} : Triangles{.last_column = 0};
  for (std::int64_t k = 0; k < stage.terms && columns > 0; k += pass) {
    const std::int64_t terms = std::min(pass, stage.terms - k);
    pack_left(stage.products.front().a, {row, rows, stage.term + k, terms}, packed_a);
    const float* packed_b = buffer_of(stage) + k * padded;
    for (const SumProduct& product : stage.products) {
      std::array<ProductTarget, kMostTerms> targets = product.targets;
      for (ProductTarget& target : targets) {
        target.data += row * target_stride_ + stage.column;
        target.add = target.add || stage.term + k > 0;
      }
      multiply_packed({.rows = rows,
                       .columns = columns,
                       .terms = terms,
                       .a = packed_a,
                       .b = packed_b,
                       .b_stride = tile_.columns * terms,
                       .target_stride = target_stride_,
                       .targets = {targets.data(), static_cast<std::size_t>(product.target_count)},
                       .triangles = triangles.from(row, stage.column, 0)});
      packed_b += padded * stage.terms;
    }
  }
  block_stages.fetch_add(1, std::memory_order_release);
  multiplied_[ticket.stage].fetch_add(1, std::memory_order_release);
}

void SumProductRun::work() {
  // Of this thread, kept: fresh pages at every call would cost more than the packing.
  thread_local const auto packed_a = hwy::AllocateAligned<float>(kMostPassTerms * kMostBlockRows);
  for (std::size_t i = next_.fetch_add(1); i < tickets_.size(); i = next_.fetch_add(1)) {
    if (tickets_[i].kind == Ticket::Kind::pack) {
      pack(tickets_[i]);
    } else {
      multiply(tickets_[i], packed_a.get());
    }
  }
}

}  // namespace crope::ops::cpu
