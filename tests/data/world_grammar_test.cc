#include "crope/data/world_grammar.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::data {
namespace {

const Phrase kMia = {.text = "Mia", .pronoun = Pronoun::she};
const Phrase kTom = {.text = "Tom", .pronoun = Pronoun::he};
const Phrase kApple = {"apple", "apples"};
const Phrase kBox = {"box", "boxes"};
const Phrase kHill = {"hill", "hills", "on the hill"};

std::string say(std::string_view pattern, Start start = Start::sentence) {
  return expand(pattern,
                {{"who", &kMia},
                 {"other", &kTom},
                 {"x", &kApple},
                 {"box", &kBox},
                 {"place", &kHill},
                 {"one", nullptr, 1},
                 {"n", nullptr, 12}},
                start);
}

TEST(WorldGrammar, Articles) {
  EXPECT_EQ(say("{who} had {x:a} in {box:a}."), "Mia had an apple in a box.");
  EXPECT_EQ(say("{x:the} was {place:at}."), "The apple was on the hill.");
  EXPECT_EQ(article("egg"), "an");
  EXPECT_EQ(article("key"), "a");
  EXPECT_EQ(article("unit"), "a");
  EXPECT_EQ(article("umbrella"), "an");
}

TEST(WorldGrammar, PronounsAgreeWithThePerson) {
  EXPECT_EQ(say("{who:he} gave {other:him} {who:his} {box}."), "She gave him her box.");
  EXPECT_EQ(say("{other:he} gave {who:him} {other:his} {box}."), "He gave her his box.");
  EXPECT_EQ(say("{box:he} and {box:his} lid."), "It and its lid.");
}

TEST(WorldGrammar, NumbersAgreeWithWhatTheyCount) {
  EXPECT_EQ(say("There {one:is} {one x} and there {n:is} {n box}."), "There is 1 apple and there are 12 boxes.");
  EXPECT_EQ(say("{n} {x:s}."), "12 apples.");
}

TEST(WorldGrammar, SentencesStartWithCapitals) {
  EXPECT_EQ(say("{who:he} ran. then {x:a} fell. did it? it did! {place:at} it lay."),
            "She ran. Then an apple fell. Did it? It did! On the hill it lay.");
  EXPECT_EQ(say("now {x:the} is", Start::fragment), "now the apple is");
  std::string text = "Listen: ";
  append_capitalised("now", text);
  EXPECT_EQ(text, "Listen: Now");
}

TEST(WorldGrammar, WhatThereIsNotIsAnError) {
  for (const char* pattern :
       {"{nobody}", "{who:s}", "{who:at}", "{who:them}", "{n:a}", "{n who}", "{who", "{x place x}"}) {
    EXPECT_THROW(say(pattern), Error) << pattern;
  }
}

}  // namespace
}  // namespace crope::data
