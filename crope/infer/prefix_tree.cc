#include "crope/infer/prefix_tree.h"

#include <algorithm>
#include <numeric>

namespace crope::infer {

using Input = std::span<const std::int32_t>;

std::int64_t common_prefix(Input x, Input y) {
  return std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin();
}

// Inputs are taken in lexicographic order, so that what the next one shares with any before it, it shares with the
// last.
PrefixTree make_prefix_tree(std::span<const Input> inputs, std::int64_t shortest) {
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return std::lexicographical_compare(inputs[x].begin(), inputs[x].end(), inputs[y].begin(), inputs[y].end());
  });

  PrefixTree tree;
  tree.last.resize(inputs.size());
  std::vector<PrefixNode>& nodes = tree.nodes;
  std::vector<std::size_t> path;  // of the last input, from its root
  Input previous;
  for (const std::size_t i : order) {
    std::int64_t shared = common_prefix(previous, inputs[i]);
    while (!path.empty() && nodes[path.back()].end > shared) {
      const std::size_t node = path.back();
      path.pop_back();
      if (nodes[node].begin >= shared) continue;
      if (shared - nodes[node].begin < shortest) {
        shared = nodes[node].begin;
        continue;
      }
      const std::size_t upper = nodes.size();
      nodes.push_back({nodes[node].input, nodes[node].begin, shared, nodes[node].parent});
      nodes[node].begin = shared;
      nodes[node].parent = upper;
      path.push_back(upper);
    }
    const auto size = static_cast<std::int64_t>(inputs[i].size());
    if (size > shared) {
      nodes.push_back({i, shared, size, path.empty() ? PrefixNode::kNone : path.back()});
      path.push_back(nodes.size() - 1);
    }
    tree.last[i] = path.back();
    previous = inputs[i];
  }
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].parent != PrefixNode::kNone) nodes[nodes[node].parent].children.push_back(node);
  }
  return tree;
}

}  // namespace crope::infer
