#include "crope/data/world_draw.h"

namespace crope::data {
namespace {

constexpr std::uint64_t kHeldOutShare = 8;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// FNV-1a, with a mark after each word so that "ab", "c" is not "a", "bc".
std::uint64_t hash(std::uint64_t start, std::string_view word) {
  for (const char c : word) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return (start ^ 0xFFu) * 0x100000001B3u;
}

constexpr std::uint64_t kStart = 0xCBF29CE484222325u;

}  // namespace

Fingerprint::Fingerprint(std::string_view kind) : sum_(mix(hash(kStart, kind))) {}

void Fingerprint::add(std::initializer_list<std::string_view> words) {
  std::uint64_t part = kStart;
  for (const std::string_view word : words) part = hash(part, word);
  sum_ += mix(part);
}

void Fingerprint::add(std::string_view name, std::int64_t number) {
  sum_ += mix(hash(kStart, name) + static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15u);
}

Side Fingerprint::side() const {
  return mix(sum_) % kHeldOutShare == 0 ? Side::benchmark : Side::training;
}

const Phrase* Deck::take() {
  std::uint64_t place = random_.below(words_.size());
  while ((taken_ >> place & 1) != 0) place = random_.below(words_.size());
  taken_ |= std::uint64_t{1} << place;
  return &words_[place];
}

std::array<const Fact*, 4> draw_facts(Relation relation, RandomStream& random) {
  const std::span<const Fact> all = facts_of(relation);
  std::array<const Fact*, 4> drawn{};
  for (std::size_t count = 0; count < drawn.size();) {
    const Fact& fact = pick(all, random);
    bool is_new = true;
    for (std::size_t i = 0; i < count; ++i) {
      if (drawn[i]->subject.text == fact.subject.text || drawn[i]->property.text == fact.property.text) is_new = false;
    }
    if (is_new) drawn[count++] = &fact;
  }
  return drawn;
}

}  // namespace crope::data
