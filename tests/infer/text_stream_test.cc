#include "crope/infer/text_stream.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/random.h"

namespace crope::infer {
namespace {

// Everything that a stream shows when `text` comes in pieces of the given sizes, one after the other.
struct Shown {
  std::vector<std::string> pieces;
  std::string all;
  std::string text;
  bool stopped;
};
Shown stream(std::string_view text, std::vector<std::string> stop, std::size_t piece) {
  TextStream stream(std::move(stop));
  Shown shown;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    shown.pieces.push_back(stream.push(text.substr(i, piece)));
    shown.all += shown.pieces.back();
  }
  shown.all += stream.finish();
  shown.text = stream.text();
  shown.stopped = stream.stopped();
  return shown;
}

bool is_whole(const std::string& text) {
  Utf8Stream utf8;
  const std::string same = utf8.push(text);
  return same == text && utf8.finish().empty();
}

TEST(TextStream, CharactersAreNeverSplit) {
  const std::string text = "a\u00e9\u20ac\U0001F600 z\u00fc";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Shown shown = stream(text, {}, piece);
    EXPECT_EQ(shown.all, text);
    EXPECT_EQ(shown.text, text);
    for (const std::string& part : shown.pieces) EXPECT_TRUE(is_whole(part)) << piece;
  }
}

TEST(TextStream, WhatIsNotUtf8BecomesReplacementCharacters) {
  const std::string mark = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\xFFz", "a" + mark + "z"},
      {"\x80\x81", mark + mark},
      {"\xC3", mark},             // broken off at the end
      {"\xE2\x82z", mark + "z"},  // one for the longest beginning
      {"\xE2\x28\xA1", mark + "(" + mark},
      {"\xF0\x9F\x98", mark},
      {"\xED\xA0\x80", mark + mark + mark},             // a surrogate
      {"\xC0\xAF", mark + mark},                        // overlong
      {"\xF4\x90\x80\x80", mark + mark + mark + mark},  // above U+10FFFF
  };
  for (const auto& [bytes, expected] : cases) {
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(stream(bytes, {}, piece).all, expected);
  }
}

TEST(TextStream, StopStringsAcrossPieces) {
  const std::string text = "The answer is 5.\n\nQuestion: another";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Shown shown = stream(text, {"Question:", "</s>"}, piece);
    EXPECT_EQ(shown.all, "The answer is 5.\n\n") << piece;
    EXPECT_EQ(shown.text, shown.all);
    EXPECT_TRUE(shown.stopped);
  }
}

TEST(TextStream, TheFirstOfSeveralStopsCounts) {
  EXPECT_EQ(stream("one two three", {"three", "two"}, 100).all, "one ");
  EXPECT_EQ(stream("aXbY", {"Y", "X"}, 1).all, "a");
}

TEST(TextStream, ABeginningThatComesToNothingIsShown) {
  const Shown shown = stream("Quest Questi", {"Question:"}, 1);
  EXPECT_EQ(shown.all, "Quest Questi");
  EXPECT_FALSE(shown.stopped);
  EXPECT_EQ(stream("aab", {"ab"}, 1).all, "a") << "the second a begins the stop string";
}

TEST(TextStream, AStopStringOfSeveralBytesACharacter) {
  const std::string text = "gr\u00fc\u00dfe \u20ac5";
  for (std::size_t piece = 1; piece <= text.size(); ++piece)
    EXPECT_EQ(stream(text, {" \u20ac"}, piece).all, "gr\u00fc\u00dfe");
  EXPECT_TRUE(is_whole(stream("\u00e9x", {"\xA9x"}, 1).all)) << "half a character stops nothing";
}

TEST(TextStream, AnEmptyStopStringIsRefused) {
  EXPECT_THROW(TextStream({"a", ""}), UsageError);
}

// Pieces never change what comes out.
TEST(TextStream, RandomTextsInRandomPieces) {
  RandomStream random(1, "texts");
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(40); i > 0; --i) {
      text += std::vector<std::string>{"a", "b", "ab", "\u00e9", "\U0001F600", "\xFF", "\xE2\x82"}[random.below(7)];
    }
    const std::vector<std::string> stop = {"abb", "b\u00e9a", "aab"};
    const Shown whole = stream(text, stop, text.size() + 1);
    TextStream in_pieces(stop);
    std::string all;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t count = 1 + random.below(5);
      all += in_pieces.push(std::string_view(text).substr(i, count));
      i += count;
    }
    all += in_pieces.finish();
    EXPECT_EQ(all, whole.all);
    EXPECT_EQ(in_pieces.text(), all);
  }
}

}  // namespace
}  // namespace crope::infer
