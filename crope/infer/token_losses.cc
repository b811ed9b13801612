#include "crope/infer/token_losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace crope::infer {

using torch::Tensor;

Tensor token_losses(Decoder& decoder, std::span<const std::int32_t> ids) {
  constexpr std::int64_t kRows = 64;  // of logits at once
  if (ids.size() < 2) return at::empty({0});
  const auto count = static_cast<std::int64_t>(ids.size()) - 1;
  KvCache cache = decoder.make_cache();
  const Chunk chunk{.cache = &cache, .ids = ids.first(ids.size() - 1)};
  decoder.append({&chunk, 1});
  const std::vector<std::int64_t> next(ids.begin() + 1, ids.end());
  const Tensor targets = at::tensor(next, at::kLong).unsqueeze(1);
  std::vector<Tensor> losses;
  for (std::int64_t first = 0; first < count; first += kRows) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(kRows, count - first)));
    std::iota(rows.begin(), rows.end(), first);
    const Tensor logits = at::log_softmax(decoder.logits(rows), 1);
    losses.push_back(-logits.gather(1, targets.narrow(0, first, std::ssize(rows))).squeeze(1));
  }
  return at::cat(losses);
}

}  // namespace crope::infer
