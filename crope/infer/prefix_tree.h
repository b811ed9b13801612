// The beginnings that sequences have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace crope::infer {

// Beginnings that are shorter are computed again: a tiny chunk of its own costs more.
inline constexpr std::int64_t kShortestShared = 8;

// How many tokens two sequences begin with alike.
std::int64_t common_prefix(std::span<const std::int32_t> x, std::span<const std::int32_t> y);

// The tokens at positions [begin, end) of the input `input` and of all inputs below this node.
struct PrefixNode {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t input;
  std::int64_t begin;
  std::int64_t end;  // above begin
  std::size_t parent = kNone;
  std::vector<std::size_t> children = {};  // their begin is this end
};

struct PrefixTree {
  std::vector<PrefixNode> nodes;
  std::vector<std::size_t> last;  // of each input, the node that it ends in
};

// A node is shared where at least `shortest` tokens are; equal inputs, and an input that another one begins with, share
// all of theirs. No input is empty.
PrefixTree make_prefix_tree(std::span<const std::span<const std::int32_t>> inputs, std::int64_t shortest);

}  // namespace crope::infer
