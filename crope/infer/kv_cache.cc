#include "crope/infer/kv_cache.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/ops/device.h"

namespace crope::infer {
namespace {

// Room of a short sequence's first segment, where that much is expected.
constexpr std::int64_t kFirstRoom = 256;

}  // namespace

// keys [layers heads room, K] and values [layers heads room, Kv].
struct KvCache::Segment {
  Segment(const CacheShape& shape, std::int64_t layers, std::int64_t room)
      : room(room),
        layer_rows(layers == 1 ? 0 : shape.heads * room),
        keys(at::empty({layers * shape.heads * room, shape.key_width}, at::kFloat)),
        values(at::empty({layers * shape.heads * room, shape.value_width}, at::kFloat)),
        key_rows(ops::mutable_view(keys)),
        value_rows(ops::mutable_view(values)) {}

  // The first `count` tokens of another one.
  Segment(const CacheShape& shape, const Segment& from, std::int64_t count) : Segment(shape, shape.layers, count) {
    const auto copy = [&](const at::Tensor& source, const at::Tensor& target) {
      const std::int64_t width = source.size(1);
      target.view({-1, count, width}).copy_(source.view({-1, from.room, width}).narrow(1, 0, count));
    };
    copy(from.keys, keys);
    copy(from.values, values);
  }

  std::int64_t room;
  std::int64_t layer_rows;  // from one layer to the next; 0 where all share one
  at::Tensor keys, values;
  ops::Matrix key_rows, value_rows;
};

CacheShape cache_shape(const model::ModelConfig& config) {
  return {config.num_layers, config.kv_heads(), config.qk_width(), config.v_width()};
}

std::int64_t KvCache::room() const {
  return owns_last_ ? parts_.back().segment->room - parts_.back().length : 0;
}

void KvCache::reserve(std::int64_t count, std::int64_t expected) {
  if (room() >= count) return;
  const std::int64_t wanted = std::max(count, std::min(expected, std::max(length_, kFirstRoom)));
  parts_.push_back({std::make_shared<Segment>(shape_, shape_.layers, wanted), 0});
  owns_last_ = true;
}

void KvCache::reserve_for_one_step(std::int64_t count) {
  parts_.push_back({std::make_shared<Segment>(shape_, /*layers=*/1, count), 0});
  owns_last_ = true;
}

KvCache KvCache::fork(std::int64_t length) const {
  TORCH_INTERNAL_ASSERT(length >= 0 && length <= length_);
  KvCache result(shape_);
  for (const Part& part : parts_) {
    const std::int64_t taken = std::min(part.length, length - result.length_);
    if (taken == 0) continue;
    const bool is_copied = 2 * taken < part.segment->room && part.segment->layer_rows != 0;
    result.parts_.push_back(
        {is_copied ? std::make_shared<Segment>(shape_, *part.segment, taken) : part.segment, taken});
    result.length_ += taken;
  }
  return result;
}

std::vector<std::pair<const void*, std::int64_t>> KvCache::segments() const {
  std::vector<std::pair<const void*, std::int64_t>> result;
  for (const Part& part : parts_) result.emplace_back(part.segment.get(), part.segment->room);
  return result;
}

ops::CachePlace KvCache::place(std::int64_t layer, std::int64_t offset) const {
  const Part& last = parts_.back();
  const Segment& segment = *last.segment;
  const std::int64_t first = layer * segment.layer_rows + last.length + offset;
  // Heads are `room` rows apart.
  const auto heads_of = [&](const ops::Matrix& rows) {
    return ops::Matrix{rows.row(first), shape_.heads, rows.columns, segment.room * rows.stride};
  };
  return {length_ + offset, heads_of(segment.key_rows), heads_of(segment.value_rows)};
}

void KvCache::advance(std::int64_t count) {
  TORCH_INTERNAL_ASSERT(count <= room());
  parts_.back().length += count;
  length_ += count;
}

void KvCache::take_back(std::int64_t length) {
  const std::int64_t count = length_ - length;
  TORCH_INTERNAL_ASSERT(count >= 0 && (count == 0 || (owns_last_ && count <= parts_.back().length)));
  if (count == 0) return;
  parts_.back().length -= count;
  length_ = length;
}

void KvCache::append_parts(std::int64_t layer, std::int64_t more, std::vector<ops::CachePart>& parts) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Segment& segment = *parts_[i].segment;
    const std::int64_t length = parts_[i].length + (i + 1 == parts_.size() ? more : 0);
    const std::int64_t first = layer * segment.layer_rows;
    if (length == 0) continue;
    parts.push_back(
        {segment.key_rows.from_row(first, length), segment.value_rows.from_row(first, length), segment.room});
  }
}

}  // namespace crope::infer
