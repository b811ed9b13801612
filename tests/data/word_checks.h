// What the tests of stories about words share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "crope/data/world_story.h"

namespace crope::data::test {

inline std::size_t count_word(const std::string& text, std::string_view word) {
  const std::regex whole("\\b" + std::string(word) + "\\b");
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), whole), std::sregex_iterator()));
}

// Stories about the same words, and about no others, have the same fingerprint, whoever wrote them in whichever order.
inline void expect_fingerprints_of_words(const std::function<Story()>& draw,
                                         const std::function<std::set<std::string>(const Story&)>& words_of_story) {
  std::map<std::set<std::string>, std::uint64_t> seen;
  bool is_repeated = false;
  for (int i = 0; i < 5000; ++i) {
    const Story story = draw();
    const auto [place, is_new] = seen.emplace(words_of_story(story), story.fingerprint.value());
    EXPECT_EQ(place->second, story.fingerprint.value());
    is_repeated |= !is_new;
  }
  EXPECT_TRUE(is_repeated);
}

}  // namespace crope::data::test
