#include "crope/base/choice.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope {

enum class Fruit { apple, pear, fig };

template <>
struct ChoiceNames<Fruit> {
  static constexpr auto kNames =
      choice_names<Fruit>({{Fruit::apple, "apple"}, {Fruit::pear, "pear"}, {Fruit::fig, "fig"}});
};

namespace {

TEST(ChoiceTest, NamesAndValuesAreOneToOne) {
  for (const auto& [value, name] : ChoiceNames<Fruit>::kNames) {
    EXPECT_EQ(Choice<Fruit>(value).name(), name);
    EXPECT_EQ(static_cast<Fruit>(Choice<Fruit>::by_name(name, "fruit")), value);
  }
}

TEST(ChoiceTest, AnUnknownNameIsRefusedWithTheListAndTheNearest) {
  try {
    Choice<Fruit>::by_name("pera", "fruit");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "fruit: expected apple, pear or fig, found 'pera'");
    EXPECT_EQ(e.hint(), "did you mean 'pear'?");
  }
}

TEST(ChoiceTest, ReadsAndWritesJson) {
  const Json json = Choice<Fruit>(Fruit::fig);
  EXPECT_EQ(json, "fig");
  EXPECT_EQ(static_cast<Fruit>(setting_value<Choice<Fruit>>(json, "fruit", "file")), Fruit::fig);
  EXPECT_EQ(setting_value<std::int64_t>(Json(3), "count", "file"), 3);
  try {
    setting_value<Choice<Fruit>>(Json(3), "fruit", "file");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "file: fruit: expected a string, found 3");
  }
}

}  // namespace
}  // namespace crope
