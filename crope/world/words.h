// The words of the small world: people, things, places, and the kinds that words name.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace crope::world {

inline constexpr std::size_t kChoices = 4;  // of an item

struct Kind {
  std::string_view name;
  std::span<const std::string_view> words;  // the most frequent first
};

// A subject of MMLU and the kinds of words that it asks about, in the order of the alphabet.
struct Subject {
  std::string_view name;
  std::array<const Kind*, kChoices> kinds;
};

struct Person {
  std::string_view name, he, him, his;
};

struct Thing {
  std::string_view singular, plural;
};

std::span<const Kind> kinds();
std::span<const Subject> subjects();
std::span<const Person> people();
std::span<const Thing> things();
std::span<const Thing> containers();
std::span<const std::string_view> places();  // "in the garden"

// "an owl", "a hen".
std::string with_article(std::string_view word);

// "1 kite", "3 kites".
std::string counted(int count, const Thing& thing);

// The text with a capital at its start.
std::string sentence(std::string text);

}  // namespace crope::world
