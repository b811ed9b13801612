// Seeded mutants of valid inputs: what a damaged disk, a transfer that was cut off or an ill-meaning sender hands over.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "crope/base/error.h"
#include "crope/base/random.h"
#include "tests/temporary_folder.h"

namespace crope::test {

// Mutants of each input: CROPE_FUZZ_ROUNDS, or as many as a second or two has room for.
inline int fuzz_rounds() {
  const char* given = std::getenv("CROPE_FUZZ_ROUNDS");
  return given == nullptr ? 1500 : std::max(1, std::atoi(given));
}

// One change at a random place of `text`.
inline void mutate_once(std::string& text, RandomStream& random, std::span<const std::string_view> words) {
  constexpr std::uint64_t kNumbers[] = {0, 1, 2, 255, 65535, 1u << 31, (1ull << 32) - 1, 1ull << 62, 1ull << 63, ~0ull};
  constexpr std::string_view kSpelled[] = {
      "0",    "-1",    "1e999", "0.5", "2147483648", "9223372036854775807", "18446744073709551616",
      "null", "\"x\"", "[]",    "{}"};
  const auto place = [&] { return random.below(text.size() + 1); };
  const std::size_t at = place();
  const std::size_t length = std::min<std::size_t>(text.size() - at, 1 + random.below(random.below(4) == 0 ? 256 : 8));
  switch (random.below(9)) {
    case 0:  // a bit
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
      break;
    case 1:  // noise
      for (std::size_t i = at; i < at + length; ++i) text[i] = static_cast<char>(random.bits());
      break;
    case 2:
      text.resize(at);
      break;
    case 3:
      text.erase(at, length);
      break;
    case 4:  // something twice
      text.insert(place(), std::string(text.substr(at, length)));
      break;
    case 5:  // a binary number
    {
      const std::uint64_t number = kNumbers[random.below(std::size(kNumbers))];
      const std::size_t bytes = std::min<std::size_t>(std::size_t{1} << random.below(4), text.size() - at);
      std::copy_n(reinterpret_cast<const char*>(&number), bytes, text.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    }
    case 6:  // a number in digits
    {
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      const std::size_t end = std::min(text.find_first_not_of("0123456789.", digit), text.size());
      text.replace(digit, end - digit, kSpelled[random.below(std::size(kSpelled))]);
      break;
    }
    case 7:
      if (!words.empty()) text.insert(at, words[random.below(words.size())]);
      break;
    default:  // one word in place of another
    {
      if (words.size() < 2) break;
      const std::string_view word = words[random.below(words.size())];
      const std::size_t found = text.find(word, at);
      if (found != std::string::npos) text.replace(found, word.size(), words[random.below(words.size())]);
      break;
    }
  }
}

// Calls `read` with mutants of `seed`. It may return or throw Error; any other exception fails the test, and a crash
// leaves the mutant as `name` in the temporary folder. The same `name` gives the same mutants.
template <typename Read>
void fuzz_text(const std::string& name, const std::string& seed, std::span<const std::string_view> words,
               const Read& read) {
  RandomStream random(1, name);
  int refused = 0;
  for (int round = 0; round < fuzz_rounds(); ++round) {
    std::string mutant = seed;
    const std::uint64_t changes = 1 + random.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) mutate_once(mutant, random, words);
    try {
      read(mutant);
    } catch (const Error& e) {
      ++refused;
      EXPECT_NE(std::string_view(e.what()), "") << name << ", mutant " << round;
    } catch (const std::exception& e) {
      ADD_FAILURE() << name << ", mutant " << round << ": " << e.what();
    }
  }
  EXPECT_GT(refused, 0) << name << ": no mutant was refused, so that nothing was tested";
}

// The same for a reader of files: `read` gets a path that ends in `name`.
template <typename Read>
void fuzz_file(const std::string& name, const std::string& seed, std::span<const std::string_view> words,
               const Read& read) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / name;
  ASSERT_NO_THROW({
    std::ofstream(path, std::ios::binary) << seed;
    read(path);
  }) << name
     << ": the seed itself";
  fuzz_text(name, seed, words, [&](const std::string& mutant) {
    std::filesystem::remove(path);  // a file that is truncated may be flushed to the disk, a new one is not
    std::ofstream(path, std::ios::binary) << mutant;
    read(path);
  });
}

}  // namespace crope::test
