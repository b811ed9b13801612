#include "crope/data/world_sorting.h"

#include <numeric>

#include "crope/base/error.h"
#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

constexpr Phrase kSortedTrades[] = {{"baker"}, {"doctor"}, {"teacher"}, {"farmer"}, {"painter"}, {"sailor"}};
constexpr Phrase kBeasts[] = {{"dog"}, {"cat"}, {"cow"}, {"pig"}, {"horse"}, {"goat"}};
constexpr Phrase kToys[] = {{"ball"}, {"doll"}, {"kite"}, {"drum"}, {"bell"}, {"puzzle"}};
constexpr Phrase kBuildings[] = {{"school"}, {"library"}, {"station"}, {"tower"}, {"mill"}, {"barn"}};
constexpr Phrase kSortedContainers[] = {{"box"}, {"bag"}, {"basket"}, {"drawer"}, {"jar"}, {"bucket"}};
constexpr Phrase kPlanets[] = {{"Mercury"}, {"Venus"}, {"Mars"}, {"Jupiter"}, {"Saturn"}, {"Neptune"}};
constexpr Phrase kMonths[] = {{"January"}, {"March"}, {"April"}, {"June"}, {"July"}, {"August"}};
constexpr Phrase kSeasons[] = {{"spring"}, {"summer"}, {"autumn"}, {"winter"}};
constexpr Phrase kNumbers[] = {{"three"}, {"six"}, {"seven"}, {"nine"}, {"ten"}, {"twelve"}};
constexpr Phrase kMetals[] = {{"iron"}, {"gold"}, {"silver"}, {"copper"}, {"lead"}};
constexpr Phrase kLiquids[] = {{"water"}, {"milk"}, {"oil"}, {"juice"}, {"tea"}};
constexpr Phrase kSounds[] = {{"moo"}, {"meow"}, {"woof"}, {"quack"}, {"oink"}, {"baa"}};
constexpr Phrase kShapes[] = {{"circle"}, {"square"}, {"triangle"}, {"cube"}, {"cone"}};
constexpr Phrase kFruits[] = {{"apple"}, {"pear"}, {"plum"}, {"banana"}, {"cherry"}};
constexpr Phrase kVegetables[] = {{"carrot"}, {"onion"}, {"potato"}, {"cabbage"}, {"bean"}};
constexpr Phrase kSweets[] = {{"candy"}, {"lollipop"}, {"chocolate"}, {"honey"}, {"cake"}};
constexpr Phrase kBirds[] = {{"owl"}, {"hen"}, {"duck"}, {"swan"}, {"eagle"}};
constexpr Phrase kInsects[] = {{"bee"}, {"ant"}, {"wasp"}, {"beetle"}, {"moth"}};
constexpr Phrase kFish[] = {{"trout"}, {"salmon"}, {"shark"}, {"cod"}, {"eel"}};
constexpr Phrase kTrees[] = {{"oak"}, {"pine"}, {"birch"}, {"willow"}, {"elm"}};
constexpr Phrase kCountries[] = {{"France"}, {"Spain"}, {"China"}, {"Egypt"}, {"Peru"}};
constexpr Phrase kCities[] = {{"Paris"}, {"Rome"}, {"London"}, {"Berlin"}, {"Tokyo"}};
constexpr Phrase kWays[] = {{"north"}, {"south"}, {"east"}, {"west"}};
constexpr Phrase kUnits[] = {{"metre"}, {"mile"}, {"litre"}, {"gram"}, {"hour"}};

const std::vector<Category> kCategories = {
    {{"colour"}, words_of(Pool::colour)},
    {{"day"}, words_of(Pool::day)},
    {{"trade"}, kSortedTrades},
    {{"beast"}, kBeasts},
    {{"toy"}, kToys},
    {{"building"}, kBuildings},
    {{"container"}, kSortedContainers},
    {{"planet"}, kPlanets},
    {{"month"}, kMonths},
    {{"season"}, kSeasons},
    {{"number"}, kNumbers},
    {{"metal"}, kMetals},
    {{"liquid"}, kLiquids},
    {{"sound"}, kSounds},
    {{"shape"}, kShapes},
    {{"fruit"}, kFruits},
    {{"vegetable"}, kVegetables},
    {{"sweet"}, kSweets},
    {{"bird"}, kBirds},
    {{"insect"}, kInsects},
    {{"fish"}, kFish},
    {{"tree"}, kTrees},
    {{"country"}, kCountries},
    {{"city"}, kCities},
    {{"direction"}, kWays},
    {{"unit"}, kUnits},
};

struct SubjectRow {
  std::string_view subject;
  std::vector<std::string_view> categories;
};
const SubjectRow kSubjects[] = {
    {"astronomy", {"planet", "month", "season", "day", "number"}},
    {"conceptual_physics", {"metal", "liquid", "sound", "colour", "shape"}},
    {"elementary_mathematics", {"number", "shape", "unit", "day", "container"}},
    {"formal_logic", {"building", "container", "trade", "colour", "beast"}},
    {"high_school_biology", {"bird", "insect", "fish", "tree", "beast"}},
    {"high_school_geography", {"country", "city", "direction", "building", "tree"}},
    {"miscellaneous", {"colour", "day", "trade", "beast", "toy"}},
    {"nutrition", {"fruit", "vegetable", "sweet", "liquid", "fish"}},
};

const Category* category_named(std::string_view name) {
  for (const Category& category : kCategories) {
    if (category.name.text == name) return &category;
  }
  throw Error("the small world has no category '" + std::string(name) + "'", {});
}

constexpr std::string_view kTellings[] = {"{who} wrote {v1}, {v2}, {v3} and {v4}.",
                                          "{who} read the words {v1}, {v2}, {v3} and {v4}."};

}  // namespace

std::span<const Category> categories() {
  return kCategories;
}

std::span<const SortingKind> sorting_kinds() {
  static const std::vector<SortingKind> kinds = [] {
    std::vector<SortingKind> made;
    for (const SubjectRow& row : kSubjects) {
      SortingKind kind{.subject = row.subject, .categories = {}};
      for (const std::string_view name : row.categories) kind.categories.push_back(category_named(name));
      made.push_back(std::move(kind));
    }
    return made;
  }();
  return kinds;
}

Story draw_sorting(const SortingKind& kind, RandomStream& random) {
  Deck people(Pool::person, random);
  const Phrase* who = people.take();
  std::vector<const Category*> drawn = kind.categories;
  shuffle(drawn, random);
  std::array<const Phrase*, kChoices> words;
  Fingerprint print("sorting");
  for (std::size_t i = 0; i < kChoices; ++i) {
    words[i] = &pick(drawn[i]->members, random);
    print.add({drawn[i]->name.text, words[i]->text});
  }
  Story story{.kind = "sorting",
              .activity = "Sorting words",
              .subject = kind.subject,
              .text = expand(pick(kTellings, random),
                             {{"who", who}, {"v1", words[0]}, {"v2", words[1]}, {"v3", words[2]}, {"v4", words[3]}},
                             Start::sentence),
              .questions = {},
              .is_paired = false,
              .fingerprint = print};
  for (std::size_t i = 0; i < kChoices; ++i) {
    std::array<std::size_t, kChoices> others;
    std::iota(others.begin(), others.end(), 0);
    std::swap(others[i], others[kChoices - 1]);
    std::span<std::size_t> denied(others.data(), kChoices - 1);
    shuffle(denied, random);
    const Slot slots[] = {{"x", &drawn[denied[0]]->name},
                          {"y", &drawn[denied[1]]->name},
                          {"z", &drawn[denied[2]]->name},
                          {"key", &drawn[i]->name}};
    Question question;
    expand("Which word is not {x:a}, {y:a} or {z:a}, but {key:a}?", slots, Start::sentence, question.text);
    expand("Which word is {key:a}?", slots, Start::sentence, question.plain_text);
    expand("the word that is not {x:a}, {y:a} or {z:a}, but {key:a}, is", slots, Start::fragment, question.stem);
    expand("the {key} is", slots, Start::fragment, question.plain_stem);
    for (std::size_t c = 0; c < kChoices; ++c) question.choices[c] = words[c]->text;
    question.answer = i;
    question.key = drawn[i]->name.text;
    story.questions.push_back(std::move(question));
  }
  return story;
}

}  // namespace crope::data
