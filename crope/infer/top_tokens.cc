#include "crope/infer/top_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace crope::infer {

std::vector<TokenProbability> top_tokens(std::span<const float> logits, std::int64_t count, double normalizer) {
  const auto size = static_cast<std::size_t>(std::min(count, static_cast<std::int64_t>(logits.size())));
  if (size == 0) return {};
  const auto value = [&](std::int32_t id) {
    const float logit = logits[static_cast<std::size_t>(id)];
    return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
  };
  const auto precedes = [&](std::int32_t x, std::int32_t y) {
    const float a = value(x), b = value(y);
    return a != b ? a > b : x < y;
  };
  std::vector<std::int32_t> ids;  // a heap whose front is the least likely
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (ids.size() == size) {
      if (!precedes(id, ids.front())) continue;
      std::pop_heap(ids.begin(), ids.end(), precedes);
      ids.pop_back();
    }
    ids.push_back(id);
    std::push_heap(ids.begin(), ids.end(), precedes);
  }
  std::sort_heap(ids.begin(), ids.end(), precedes);
  std::vector<TokenProbability> top;
  for (const std::int32_t id : ids) top.push_back({id, logits[static_cast<std::size_t>(id)] - normalizer});
  return top;
}

}  // namespace crope::infer
