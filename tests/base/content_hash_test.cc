#include "crope/base/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace crope {
namespace {

std::uint64_t hash_of(const std::string& text, std::uint64_t start = 0) {
  return content_hash(std::as_bytes(std::span(text)), start);
}

// Checkpoints hold these values: they may never change.
TEST(ContentHash, Fnv1aHasItsPublishedValues) {
  EXPECT_EQ(fnv1a(""), 0xCBF29CE484222325u);
  EXPECT_EQ(fnv1a("a"), 0xAF63DC4C8601EC8Cu);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171F73967E8u);
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

TEST(ContentHash, ValuesAreFixed) {
  EXPECT_EQ(hash_text(hash_of("")), "04f77c8ed1a8dfab");
  EXPECT_EQ(hash_text(hash_of("crope")), "d6c15fcb49436e3c");
}

TEST(ContentHash, EveryBitAndTheLengthCount) {
  const std::string text(100, 'x');
  std::set<std::uint64_t> seen = {hash_of(text)};
  for (std::size_t place = 0; place < text.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[place] = static_cast<char>(changed[place] ^ (1 << bit));
      EXPECT_TRUE(seen.insert(hash_of(changed)).second) << place << " " << bit;
    }
  }
  for (std::size_t size = 0; size < 100; ++size) {
    EXPECT_TRUE(seen.insert(hash_of(std::string(size, '\0'))).second) << size;
  }
}

TEST(ContentHash, WorkOnManyBytesCanBeEnded) {
  const std::string text((40 << 20) + 7, 'x');
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  int calls = 0;
  EXPECT_EQ(hash_text(content_hash(bytes, 0, [&] { ++calls; })), "c6587ce1dcb6019b");
  EXPECT_EQ(calls, 3);
  struct Enough {};
  const auto end_at_second = [&, left = 2]() mutable {
    if (--left == 0) throw Enough();
  };
  EXPECT_THROW(content_hash(bytes, 0, end_at_second), Enough);
}

TEST(ContentHash, PiecesAreChained) {
  EXPECT_NE(hash_of("b", hash_of("a")), hash_of("a", hash_of("b")));
  EXPECT_NE(hash_of("b", hash_of("a")), hash_of("b"));
}

}  // namespace
}  // namespace crope
