#include "crope/data/world_tables.h"

#include <gtest/gtest.h>

#include <set>

#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

constexpr Pool kPools[] = {Pool::person, Pool::place,  Pool::thing, Pool::container, Pool::animal, Pool::colour,
                           Pool::day,    Pool::time,   Pool::weather, Pool::ordinal, Pool::trade,  Pool::family,
                           Pool::letter, Pool::tool,  Pool::shape,     Pool::toy,    Pool::beast,
                           Pool::land,   Pool::clothing, Pool::food};

TEST(WorldTables, PoolsHoldFourDifferentWordsOrMore) {
  for (const Pool pool : kPools) {
    std::set<std::string_view> words;
    for (const Phrase& phrase : words_of(pool)) words.insert(phrase.text);
    EXPECT_EQ(words.size(), words_of(pool).size());
    EXPECT_GE(words.size(), 4u);
    EXPECT_LE(words.size(), 64u) << "a deck has 64 bits";
  }
  EXPECT_TRUE(words_of(Pool::none).empty());
}

TEST(WorldTables, WordsHaveTheFormsTheirPatternsAskFor) {
  for (const Phrase& place : words_of(Pool::place)) {
    EXPECT_TRUE(place.at.ends_with(std::string("the ") + std::string(place.text))) << place.text;
  }
  for (const Pool pool : {Pool::thing, Pool::container, Pool::animal}) {
    for (const Phrase& noun : words_of(pool)) EXPECT_FALSE(noun.plural.empty()) << noun.text;
  }
  for (const Phrase& person : words_of(Pool::person)) EXPECT_NE(person.pronoun, Pronoun::it) << person.text;
}

TEST(WorldTables, EveryRelationHasFourPropertiesAndStatesItsFacts) {
  for (std::size_t i = 1; i < kRelationCount; ++i) {
    const auto relation = static_cast<Relation>(i);
    std::set<std::string_view> subjects, properties;
    for (const Fact& fact : facts_of(relation)) {
      subjects.insert(fact.subject.text);
      properties.insert(fact.property.text);
      for (const std::string_view pattern : statements_of(relation)) {
        const std::string text =
            expand(pattern, {{"subject", &fact.subject}, {"property", &fact.property}}, Start::sentence);
        EXPECT_TRUE(text.ends_with(".")) << text;
      }
    }
    EXPECT_EQ(subjects.size(), facts_of(relation).size()) << topic_of(relation);
    EXPECT_GE(properties.size(), 4u) << topic_of(relation);
    EXPECT_FALSE(statements_of(relation).empty()) << topic_of(relation);
  }
}

TEST(WorldTables, TheOppositeOfTheOppositeIsTheWayItself) {
  for (const Fact& fact : facts_of(Relation::opposite_way)) {
    for (const Fact& back : facts_of(Relation::opposite_way)) {
      if (back.subject.text == fact.property.text) {
        EXPECT_EQ(back.property.text, fact.subject.text);
      }
    }
  }
}

}  // namespace
}  // namespace crope::data
