// Keys and values of one sequence.
//
// They stand in segments of fixed room, and room is added as the sequence grows. A fork shares the segments of another
// sequence up to a length and continues in one of its own: a prefix that many sequences have in common is computed once
// and stored once. A segment of which a fork needs less than half is copied as far as it is needed, so that a sequence
// never holds more than twice the room of its tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "crope/model/config.h"
#include "crope/ops/kernels.h"

namespace crope::infer {

struct CacheShape {
  std::int64_t layers;
  std::int64_t heads;        // of keys and values
  std::int64_t key_width;    // K
  std::int64_t value_width;  // Kv
};

CacheShape cache_shape(const model::ModelConfig& config);

// Not copied, forked. One thread at a time writes to a sequence; forks may be read and written beside each other.
class KvCache {
 public:
  explicit KvCache(const CacheShape& shape) : shape_(shape) {}
  KvCache(KvCache&&) = default;
  KvCache& operator=(KvCache&&) = default;

  const CacheShape& shape() const { return shape_; }

  // Number of tokens held.
  std::int64_t length() const { return length_; }

  // Makes room for `count` more tokens in one segment. A new segment gets room for up to `expected` tokens, but for no
  // more than are held, or a few: a sequence may end long before its limit. Throws what ATen throws without memory.
  void reserve(std::int64_t count, std::int64_t expected = 0);

  // Makes room for `count` last tokens that come in one step. No later step reads them, so all layers share the memory
  // of one.
  void reserve_for_one_step(std::int64_t count);

  // The first `length` tokens. REQUIRES: 0 <= length <= this->length().
  KvCache fork(std::int64_t length) const;

  // The segments, each with its room in tokens: what this sequence keeps from being freed.
  std::vector<std::pair<const void*, std::int64_t>> segments() const;

  // Where the token at position length() + offset goes: its keys, turned to that position, and its values, a row for
  // each head. REQUIRES: offset is less than what reserve() made room for.
  ops::CachePlace place(std::int64_t layer, std::int64_t offset) const;

  // `count` tokens have been written behind the last. REQUIRES: there was room for them.
  void advance(std::int64_t count);

  // Forgets tokens that have been written behind the first `length`, so that others may be written there.
  // REQUIRES: they all came by the last advance(), and no fork has been made since.
  void take_back(std::int64_t length);

  // The tokens in order, and behind them `more` that were written but not advanced over.
  void append_parts(std::int64_t layer, std::int64_t more, std::vector<ops::CachePart>& parts) const;

 private:
  struct Segment;
  struct Part {
    std::shared_ptr<Segment> segment;
    std::int64_t length;  // tokens of the segment that belong to this sequence, from its first
  };

  std::int64_t room() const;

  CacheShape shape_;
  std::int64_t length_ = 0;
  std::vector<Part> parts_;
  bool owns_last_ = false;  // whether tokens may be written behind the last part
};

}  // namespace crope::infer
