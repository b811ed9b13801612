#include "crope/data/world_tables.h"

namespace crope::data {
namespace {

constexpr Phrase woman(std::string_view name) {
  return {.text = name, .pronoun = Pronoun::she};
}
constexpr Phrase man(std::string_view name) {
  return {.text = name, .pronoun = Pronoun::he};
}

constexpr Phrase kPeople[] = {
    woman("Mia"),  woman("Ana"),  woman("Lily"), woman("Rosa"), woman("Nora"), woman("Ella"),
    woman("Ruth"), woman("Jane"), woman("Kate"), woman("Emma"), woman("Lucy"), woman("Zoe"),
    man("Tom"),    man("Sam"),    man("Ben"),    man("Max"),    man("Leo"),    man("Jack"),
    man("Paul"),   man("Hugo"),   man("Finn"),   man("Adam"),   man("Noah"),   man("Carl"),
};

constexpr Phrase kPlaces[] = {
    {"kitchen", "kitchens", "in the kitchen"}, {"garden", "gardens", "in the garden"},
    {"barn", "barns", "in the barn"},          {"library", "libraries", "in the library"},
    {"school", "schools", "at the school"},    {"park", "parks", "in the park"},
    {"market", "markets", "at the market"},    {"forest", "forests", "in the forest"},
    {"lake", "lakes", "at the lake"},          {"hill", "hills", "on the hill"},
    {"beach", "beaches", "on the beach"},      {"bridge", "bridges", "on the bridge"},
    {"tower", "towers", "in the tower"},       {"station", "stations", "at the station"},
    {"shop", "shops", "in the shop"},          {"mill", "mills", "at the mill"},
};

constexpr Phrase kThings[] = {
    {"ball", "balls"},     {"book", "books"},       {"cup", "cups"},     {"kite", "kites"},         {"key", "keys"},
    {"hat", "hats"},       {"lamp", "lamps"},       {"drum", "drums"},   {"doll", "dolls"},         {"spoon", "spoons"},
    {"coin", "coins"},     {"rope", "ropes"},       {"shell", "shells"}, {"pen", "pens"},           {"bell", "bells"},
    {"clock", "clocks"},   {"apple", "apples"},     {"egg", "eggs"},     {"umbrella", "umbrellas"}, {"onion", "onions"},
    {"flower", "flowers"}, {"feather", "feathers"},
};

constexpr Phrase kContainers[] = {
    {"box", "boxes"},      {"bag", "bags"},     {"basket", "baskets"}, {"drawer", "drawers"}, {"jar", "jars"},
    {"bucket", "buckets"}, {"chest", "chests"}, {"pot", "pots"},       {"tin", "tins"},       {"urn", "urns"},
};

constexpr Phrase kAnimals[] = {
    {"dog", "dogs"},     {"cat", "cats"},   {"cow", "cows"},    {"hen", "hens"},
    {"horse", "horses"}, {"pig", "pigs"},   {"sheep", "sheep"}, {"duck", "ducks"},
    {"goat", "goats"},   {"mouse", "mice"}, {"frog", "frogs"},  {"rabbit", "rabbits"},
    {"fox", "foxes"},    {"owl", "owls"},   {"bee", "bees"},    {"ox", "oxen"},
};

constexpr Phrase kColours[] = {{"red"}, {"blue"}, {"green"}, {"yellow"}, {"white"}, {"black"}, {"brown"}, {"pink"}};

constexpr Phrase kDays[] = {{"Monday"}, {"Tuesday"}, {"Wednesday"}, {"Thursday"}, {"Friday"}, {"Saturday"}, {"Sunday"}};

constexpr Phrase kTimes[] = {{"early in the morning"}, {"before noon"},    {"at noon"},
                             {"in the afternoon"},     {"in the evening"}, {"late at night"}};

constexpr Phrase kWeather[] = {{"sunny"}, {"rainy"}, {"windy"}, {"snowy"}, {"foggy"}, {"cloudy"}};

constexpr Phrase kTrades[] = {{"baker"},  {"doctor"}, {"teacher"}, {"farmer"}, {"painter"},
                              {"sailor"}, {"tailor"}, {"hunter"},  {"singer"}, {"gardener"}};

constexpr Phrase kFamilies[] = {{"Stone"}, {"Wood"}, {"Field"}, {"Marsh"}, {"Bell"}, {"Rivers"}, {"Snow"}, {"Berry"}};

constexpr Phrase kOrdinals[] = {{"first"}, {"second"}, {"third"}, {"fourth"}};

constexpr Phrase kLetters[] = {{"A"}, {"B"}, {"C"}, {"D"}};

// What pictures show.
constexpr Phrase kLabelledTools[] = {{"magnet"}, {"spring"}, {"wheel"},  {"lever"},
                             {"hammer"}, {"candle"}, {"mirror"}, {"nail"}};
constexpr Phrase kLabelledShapes[] = {{"circle"}, {"square"}, {"triangle"}, {"line"}, {"cross"}, {"ring"}, {"cube"}, {"cone"}};
constexpr Phrase kLabelledToys[] = {{"ball"}, {"doll"}, {"kite"}, {"drum"}, {"bell"}, {"puzzle"}, {"rope"}, {"whistle"}};
constexpr Phrase kLabelledBeasts[] = {{"dog"}, {"cat"}, {"cow"}, {"hen"}, {"horse"}, {"pig"}, {"sheep"}, {"goat"}};
constexpr Phrase kLabelledLands[] = {{"river"}, {"lake"}, {"hill"}, {"desert"}, {"valley"}, {"forest"}, {"cave"}, {"city"}};
constexpr Phrase kLabelledClothes[] = {{"hat"}, {"coat"}, {"shirt"}, {"scarf"}, {"sock"}, {"boot"}, {"belt"}, {"glove"}};
constexpr Phrase kLabelledFoods[] = {{"pear"}, {"plum"}, {"banana"}, {"cherry"}, {"carrot"}, {"potato"}, {"cabbage"}, {"bean"}};

// What somebody did, and what happened.
constexpr Fact kEffects[] = {
    {{"left the ice in the sun"}, {"the ice melted"}},
    {{"put the water in the freezer"}, {"the water froze"}},
    {{"held the paper in the fire"}, {"the paper burned"}},
    {{"gave water to the dry plant"}, {"the plant grew"}},
    {{"dropped the glass on the floor"}, {"the glass broke"}},
    {{"put the stone in the pond"}, {"the stone sank"}},
    {{"laid the cork on the pond"}, {"the cork floated"}},
    {{"hung the wet shirt in the wind"}, {"the shirt dried"}},
    {{"let go of the balloon"}, {"the balloon rose"}},
    {{"set the pan of milk on the hot stove"}, {"the milk boiled"}},
    {{"held the nail near the magnet"}, {"the nail moved"}},
    {{"stirred sugar into the tea"}, {"the sugar dissolved"}},
    {{"lit the candle"}, {"the room became bright"}},
    {{"left the bicycle in the rain"}, {"the bicycle rusted"}},
};

constexpr Phrase kFruit = {"a fruit"}, kVegetable = {"a vegetable"}, kGrain = {"a food made of grain"},
                 kFromAnimals = {"a food that comes from animals"}, kSweet = {"a sweet"};
constexpr Fact kFoodGroups[] = {
    {{"an apple"}, kFruit},
    {{"a pear"}, kFruit},
    {{"a plum"}, kFruit},
    {{"a banana"}, kFruit},
    {{"a cherry"}, kFruit},
    {{"a carrot"}, kVegetable},
    {{"an onion"}, kVegetable},
    {{"a potato"}, kVegetable},
    {{"a cabbage"}, kVegetable},
    {{"a bean"}, kVegetable},
    {{"a bread roll"}, kGrain},
    {{"a bowl of rice"}, kGrain},
    {{"a bowl of oats"}, kGrain},
    {{"a plate of pasta"}, kGrain},
    {{"an egg"}, kFromAnimals},
    {{"a bit of cheese"}, kFromAnimals},
    {{"a fish"}, kFromAnimals},
    {{"a piece of ham"}, kFromAnimals},
    {{"a candy"}, kSweet},
    {{"a lollipop"}, kSweet},
    {{"a bit of chocolate"}, kSweet},
};

constexpr Fact kSky[] = {
    {{"Mercury"}, {"the planet nearest to the sun"}},
    {{"Venus"}, {"the hottest planet"}},
    {{"the Earth"}, {"the planet where we live"}},
    {{"Mars"}, {"the red planet"}},
    {{"Jupiter"}, {"the largest planet"}},
    {{"Saturn"}, {"the planet with the bright rings"}},
    {{"Neptune"}, {"the planet farthest from the sun"}},
    {{"the sun"}, {"the star that gives us light by day"}},
    {{"the moon"}, {"the ball of rock that goes around us"}},
    {{"a comet"}, {"a ball of ice with a long tail"}},
};

constexpr Fact kLandscapes[] = {
    {{"a desert"}, {"a dry place with sand"}},    {{"an island"}, {"land with water all around it"}},
    {{"a mountain"}, {"very high land"}},         {{"a river"}, {"water that flows to the sea"}},
    {{"a swamp"}, {"soft and wet land"}},         {{"a valley"}, {"low land between hills"}},
    {{"a volcano"}, {"a hill with fire inside"}}, {{"a cave"}, {"a dark hole in the rock"}},
    {{"a harbour"}, {"a safe place for ships"}},  {{"a city"}, {"a place with many houses"}},
};

constexpr Fact kAnimalUses[] = {
    {{"cow", "cows"}, {"gives milk"}},          {{"hen", "hens"}, {"lays eggs"}},
    {{"sheep", "sheep"}, {"gives wool"}},       {{"bee", "bees"}, {"makes honey"}},
    {{"cat", "cats"}, {"catches mice"}},        {{"owl", "owls"}, {"hunts at night"}},
    {{"dog", "dogs"}, {"guards the house"}},    {{"ox", "oxen"}, {"pulls the plough"}},
    {{"rabbit", "rabbits"}, {"has long ears"}}, {{"frog", "frogs"}, {"eats flies"}},
    {{"horse", "horses"}, {"carries a rider"}}, {{"fox", "foxes"}, {"steals hens"}},
};

constexpr Fact kAnimalSounds[] = {
    {{"cow", "cows"}, {"moo"}},     {{"cat", "cats"}, {"meow"}},      {{"dog", "dogs"}, {"woof"}},
    {{"duck", "ducks"}, {"quack"}}, {{"pig", "pigs"}, {"oink"}},      {{"sheep", "sheep"}, {"baa"}},
    {{"hen", "hens"}, {"cluck"}},   {{"horse", "horses"}, {"neigh"}}, {{"owl", "owls"}, {"hoot"}},
    {{"bee", "bees"}, {"buzz"}},    {{"mouse", "mice"}, {"squeak"}},  {{"frog", "frogs"}, {"croak"}},
};

constexpr Fact kOppositeWays[] = {
    {{"north"}, {"south"}}, {{"south"}, {"north"}}, {{"east"}, {"west"}}, {{"west"}, {"east"}}};

constexpr Fact kNextDays[] = {
    {{"Monday"}, {"Tuesday"}},  {{"Tuesday"}, {"Wednesday"}}, {{"Wednesday"}, {"Thursday"}}, {{"Thursday"}, {"Friday"}},
    {{"Friday"}, {"Saturday"}}, {{"Saturday"}, {"Sunday"}},   {{"Sunday"}, {"Monday"}},
};

constexpr std::string_view kEffectStatements[] = {"Somebody {subject}, and so {property}.",
                                                  "One day a child {subject}. Soon {property}.",
                                                  "If {property}, perhaps somebody {subject}."};
constexpr std::string_view kFoodStatements[] = {"{subject} is {property}.", "If you eat {subject}, you eat {property}.",
                                                "Everyone knows that {subject} is {property}."};
constexpr std::string_view kSkyStatements[] = {"{subject} is {property}.", "{property} is called {subject}.",
                                               "What is {subject}? It is {property}."};
constexpr std::string_view kLandscapeStatements[] = {"{subject} is {property}.",
                                                     "What is {subject}? It is {property}."};
constexpr std::string_view kUseStatements[] = {"{subject:a} {property}.", "An animal that {property} is {subject:a}.",
                                               "Every {subject} {property}."};
constexpr std::string_view kSoundStatements[] = {"{subject:a} says {property}.", "The {subject} says {property}.",
                                                 "If something says {property}, it is {subject:a}."};
constexpr std::string_view kWayStatements[] = {"{subject} is the opposite of {property}.",
                                               "If you walk {subject}, then {property} is behind you."};
constexpr std::string_view kDayStatements[] = {"After {subject} comes {property}.",
                                               "The day after {subject} is {property}.",
                                               "{subject} is the day before {property}."};

constexpr Phrase kDeeds[] = {{"helped"}, {"thanked"}, {"called"}, {"followed"}, {"hugged"}, {"greeted"}, {"visited"}};

constexpr Scale kScales[] = {
    {"taller", "shorter", "tallest", "shortest"}, {"older", "younger", "oldest", "youngest"},
    {"faster", "slower", "fastest", "slowest"},   {"stronger", "weaker", "strongest", "weakest"},
    {"louder", "quieter", "loudest", "quietest"},
};

constexpr Cause kCauses[] = {
    {"It began to rain", "so {who} got wet"},
    {"The wind was cold", "so {who} put on a coat"},
    {"The sun was hot", "so {who} sat down under a tree"},
    {"{who} was hungry", "so {who:he} ate an apple"},
    {"{who} was thirsty", "so {who:he} drank some water"},
    {"{who} was tired", "so {who:he} took a little rest"},
    {"{who} heard a bird sing", "so {who:he} stopped to listen"},
    {"{who} saw a rainbow", "so {who:he} was happy"},
    {"The road was long", "so {who} walked slowly"},
    {"{who} stepped on a stone", "so {who:his} foot hurt"},
};

// In the order of the enumerations.
constexpr std::span<const Phrase> kPools[] = {{},    kPeople, kPlaces,  kThings,   kContainers, kAnimals, kColours,
                                              kDays, kTimes,  kWeather, kOrdinals, kTrades,     kFamilies,
                                              kLetters, kLabelledTools, kLabelledShapes, kLabelledToys, kLabelledBeasts, kLabelledLands, kLabelledClothes, kLabelledFoods};

struct RelationRow {
  std::string_view topic;
  std::span<const Fact> facts;
  std::span<const std::string_view> statements;
};
constexpr RelationRow kRelations[] = {
    {},
    {"what happens and why", kEffects, kEffectStatements},
    {"food", kFoodGroups, kFoodStatements},
    {"the sky", kSky, kSkyStatements},
    {"land and water", kLandscapes, kLandscapeStatements},
    {"animals", kAnimalUses, kUseStatements},
    {"what animals say", kAnimalSounds, kSoundStatements},
    {"finding the way", kOppositeWays, kWayStatements},
    {"the days of the week", kNextDays, kDayStatements},
};

const RelationRow& row_of(Relation relation) {
  return kRelations[static_cast<std::size_t>(relation)];
}

}  // namespace

std::span<const Phrase> words_of(Pool pool) {
  return kPools[static_cast<std::size_t>(pool)];
}

std::span<const Fact> facts_of(Relation relation) {
  return row_of(relation).facts;
}

std::span<const std::string_view> statements_of(Relation relation) {
  return row_of(relation).statements;
}

std::string_view topic_of(Relation relation) {
  return row_of(relation).topic;
}

std::span<const Phrase> deeds() {
  return kDeeds;
}

std::span<const Scale> scales() {
  return kScales;
}

std::span<const Cause> causes() {
  return kCauses;
}

}  // namespace crope::data
