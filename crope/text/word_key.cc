#include "crope/text/word_key.h"

#include <algorithm>
#include <random>

namespace crope::text {

const std::array<std::uint64_t, 2> WordKey::kSeeds = [] {
  std::random_device device;
  const auto draw = [&] { return std::uint64_t{device()} << 32 | device(); };
  return std::array{draw(), draw()};
}();

WordKey WordKey::of_long(std::string_view word) {
  std::uint64_t hash = word.size();
  for (std::size_t at = 0; at < word.size(); at += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, word.data() + at, std::min<std::size_t>(8, word.size() - at));
    hash = mix(hash, bytes);
  }
  // Tables keep the place of a long word's bytes here, and no place is that far out: the bytes are always compared.
  return {word, hash, ~std::uint64_t{0}, hash};
}

}  // namespace crope::text
