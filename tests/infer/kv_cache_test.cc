#include "crope/infer/kv_cache.h"

#include <gtest/gtest.h>

namespace crope::infer {
namespace {

constexpr CacheShape kShape = {.layers = 2, .heads = 3, .key_width = 4, .value_width = 6};

// Writes `count` tokens whose numbers tell where they belong.
void write_tokens(KvCache& cache, std::int64_t count, float mark) {
  cache.reserve(count);
  for (std::int64_t layer = 0; layer < kShape.layers; ++layer) {
    for (std::int64_t head = 0; head < kShape.heads; ++head) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float value =
            mark + static_cast<float>(cache.length() + i) + 1000 * static_cast<float>(10 * layer + head);
        const ops::CachePlace place = cache.place(layer, i);
        EXPECT_EQ(place.position, cache.length() + i);
        std::fill_n(place.keys.row(head), kShape.key_width, value);
        std::fill_n(place.values.row(head), kShape.value_width, -value);
      }
    }
  }
  cache.advance(count);
}

// The first number of every key of a head, without the part that layer and head add.
std::vector<float> keys_of(const KvCache& cache, std::int64_t layer, std::int64_t head) {
  std::vector<ops::CachePart> parts;
  cache.append_parts(layer, 0, parts);
  std::vector<float> keys;
  for (const ops::CachePart& part : parts) {
    for (std::int64_t i = 0; i < part.keys.rows; ++i) {
      const float key = part.keys.row(head * part.room + i)[kShape.key_width - 1];
      EXPECT_EQ(part.values.row(head * part.room + i)[kShape.value_width - 1], -key);
      keys.push_back(key - 1000 * static_cast<float>(10 * layer + head));
    }
  }
  return keys;
}

TEST(KvCache, TokensComeBackInOrder) {
  KvCache cache(kShape);
  EXPECT_EQ(cache.length(), 0);
  cache.reserve(3);
  write_tokens(cache, 2, 0);
  write_tokens(cache, 1, 0);
  write_tokens(cache, 2, 0);  // in a second segment
  EXPECT_EQ(cache.length(), 5);
  for (std::int64_t layer = 0; layer < kShape.layers; ++layer) {
    for (std::int64_t head = 0; head < kShape.heads; ++head) {
      EXPECT_EQ(keys_of(cache, layer, head), (std::vector<float>{0, 1, 2, 3, 4}));
    }
  }
}

TEST(KvCache, ForksShareAndPart) {
  KvCache cache(kShape);
  cache.reserve(6);
  write_tokens(cache, 4, 0);
  KvCache fork = cache.fork(3);
  EXPECT_EQ(fork.length(), 3);
  std::vector<ops::CachePart> parts, shared;
  cache.append_parts(1, 0, parts);
  fork.append_parts(1, 0, shared);
  EXPECT_EQ(shared.front().keys.data, parts.front().keys.data) << "a fork copies nothing";
  write_tokens(fork, 2, 100);
  write_tokens(cache, 1, 0);
  KvCache grandchild = fork.fork(4);
  write_tokens(grandchild, 1, 200);
  EXPECT_EQ(keys_of(cache, 1, 2), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(keys_of(fork, 1, 2), (std::vector<float>{0, 1, 2, 103, 104}));
  EXPECT_EQ(keys_of(grandchild, 0, 1), (std::vector<float>{0, 1, 2, 103, 204}));
  EXPECT_EQ(cache.fork(0).length(), 0);
}

std::int64_t room_of(const KvCache& cache) {
  std::int64_t total = 0;
  for (const auto& [segment, room] : cache.segments()) total += room;
  return total;
}

TEST(KvCache, AShortForkDoesNotHoldALongSegment) {
  KvCache cache(kShape);
  cache.reserve(100);
  write_tokens(cache, 60, 0);
  for (const std::int64_t length : {1, 20, 49, 50, 60}) {
    const KvCache fork = cache.fork(length);
    EXPECT_LE(room_of(fork), 2 * length) << length;
    EXPECT_EQ(fork.segments() == cache.segments(), length >= 50) << length;
    std::vector<float> expected;
    for (std::int64_t i = 0; i < length; ++i) expected.push_back(static_cast<float>(i));
    for (std::int64_t layer = 0; layer < kShape.layers; ++layer) {
      for (std::int64_t head = 0; head < kShape.heads; ++head) EXPECT_EQ(keys_of(fork, layer, head), expected);
    }
  }
}

TEST(KvCache, RoomGrowsWithTheSequence) {
  KvCache cache(kShape);
  const std::int64_t window = std::int64_t{1} << 40;  // nobody has memory for it
  std::size_t segments = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    cache.reserve(1, window - i);
    cache.advance(1);
    EXPECT_LE(room_of(cache), std::max<std::int64_t>(256, 2 * cache.length()));
    segments = cache.segments().size();
  }
  EXPECT_LE(segments, 6u) << "and not token by token";
  KvCache small(kShape);
  small.reserve(1, 10);
  EXPECT_EQ(room_of(small), 10) << "no more than is expected";
}

TEST(KvCache, AForkOutlivesWhatItSharesWith) {
  KvCache fork(kShape);
  {
    KvCache cache(kShape);
    write_tokens(cache, 3, 0);
    fork = cache.fork(2);
  }
  EXPECT_EQ(keys_of(fork, 0, 0), (std::vector<float>{0, 1}));
}

// All layers of the last step use the memory of one.
TEST(KvCache, OneStepSharesTheMemoryOfItsLayers) {
  KvCache cache(kShape);
  write_tokens(cache, 2, 0);
  cache.reserve_for_one_step(3);
  EXPECT_EQ(cache.place(0, 1).keys.data, cache.place(1, 1).keys.data);
  EXPECT_EQ(cache.place(1, 2).position, 4);
}

}  // namespace
}  // namespace crope::infer
