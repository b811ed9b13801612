#include "crope/infer/prefix_tree.h"

#include <gtest/gtest.h>

#include "crope/base/random.h"

namespace crope::infer {
namespace {

using Ids = std::vector<std::int32_t>;

PrefixTree make_tree(const std::vector<Ids>& inputs, std::int64_t shortest) {
  const std::vector<std::span<const std::int32_t>> views(inputs.begin(), inputs.end());
  return make_prefix_tree(views, shortest);
}

// The tokens from the root to the end of a node.
Ids path_of(const PrefixTree& tree, const std::vector<Ids>& inputs, std::size_t node) {
  Ids ids;
  for (; node != PrefixNode::kNone; node = tree.nodes[node].parent) {
    const PrefixNode& place = tree.nodes[node];
    const Ids& input = inputs[place.input];
    ids.insert(ids.begin(), input.begin() + place.begin, input.begin() + place.end);
  }
  return ids;
}

std::int64_t tokens_of(const PrefixTree& tree) {
  std::int64_t count = 0;
  for (const PrefixNode& node : tree.nodes) count += node.end - node.begin;
  return count;
}

TEST(PrefixTree, ChoicesShareTheirContext) {
  const std::vector<Ids> inputs = {{1, 2, 3, 4, 5}, {1, 2, 3, 6}, {1, 2, 3, 4, 7, 8}, {9, 9}};
  const PrefixTree tree = make_tree(inputs, 1);
  EXPECT_EQ(tokens_of(tree), 3 + 1 + 1 + 2 + 1 + 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(path_of(tree, inputs, tree.last[i]), inputs[i]);
}

TEST(PrefixTree, ShortBeginningsAreNotShared) {
  const std::vector<Ids> inputs = {{1, 2, 3}, {1, 2, 4}};
  EXPECT_EQ(tokens_of(make_tree(inputs, 2)), 4);
  EXPECT_EQ(tokens_of(make_tree(inputs, 3)), 6);
}

TEST(PrefixTree, EqualInputsAndBeginningsAreOne) {
  const std::vector<Ids> inputs = {{1, 2}, {1, 2}, {1, 2, 3}, {1, 2}};
  const PrefixTree tree = make_tree(inputs, 100);
  EXPECT_EQ(tokens_of(tree), 3);
  EXPECT_EQ(tree.last[0], tree.last[3]);
  EXPECT_NE(tree.last[0], tree.last[2]);
}

TEST(PrefixTree, NoInputsNoNodes) {
  EXPECT_TRUE(make_tree({}, 1).nodes.empty());
}

TEST(PrefixTree, RandomInputsKeepTheirTokens) {
  RandomStream random(1, "tree");
  for (int round = 0; round < 200; ++round) {
    std::vector<Ids> inputs(1 + random.below(12));
    for (Ids& ids : inputs) {
      ids.resize(1 + random.below(10));
      for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(2));
    }
    const auto shortest = static_cast<std::int64_t>(1 + random.below(4));
    const PrefixTree tree = make_tree(inputs, shortest);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(path_of(tree, inputs, tree.last[i]), inputs[i]);
      EXPECT_EQ(tree.nodes[tree.last[i]].end, static_cast<std::int64_t>(inputs[i].size()));
    }
    for (const PrefixNode& node : tree.nodes) {
      EXPECT_LT(node.begin, node.end);
      for (const std::size_t child : node.children) EXPECT_EQ(tree.nodes[child].begin, node.end);
    }
  }
}

}  // namespace
}  // namespace crope::infer
