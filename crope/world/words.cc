#include "crope/world/words.h"

#include <fmt/format.h>

#include <cctype>

namespace crope::world {
namespace {

using Words = std::string_view[];

constexpr Words kBeasts = {"dog", "cat", "cow", "pig", "horse", "goat", "sheep", "mouse", "fox"};
constexpr Words kBirds = {"owl", "hen", "duck", "swan", "eagle", "crow", "goose", "robin", "stork"};
constexpr Words kBuildings = {"school", "library", "station", "tower", "mill", "barn", "house", "church", "shop"};
constexpr Words kCities = {"Paris", "Rome", "London", "Berlin", "Tokyo", "Cairo", "Madrid", "Vienna", "Oslo"};
constexpr Words kColours = {"red", "blue", "green", "yellow", "white", "black", "brown", "pink", "grey"};
constexpr Words kContainerWords = {"box", "bag", "basket", "drawer", "jar", "bucket", "pot", "chest", "bottle"};
constexpr Words kCountries = {"France", "Spain", "China", "Egypt", "Peru", "Italy", "Kenya", "Japan", "Chile"};
constexpr Words kDays = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr Words kFish = {"trout", "salmon", "shark", "cod", "eel", "carp", "tuna", "perch", "pike"};
constexpr Words kFruits = {"apple", "pear", "plum", "banana", "cherry", "lemon", "grape", "peach", "melon"};
constexpr Words kInsects = {"bee", "ant", "wasp", "beetle", "moth", "fly", "flea", "gnat", "louse"};
constexpr Words kLiquids = {"water", "milk", "oil", "juice", "tea", "ink", "soup", "wine", "paint"};
constexpr Words kMetals = {"iron", "gold", "silver", "copper", "lead", "tin", "zinc", "brass", "nickel"};
constexpr Words kMonths = {"January", "March", "April", "June", "July", "August", "October", "May", "December"};
constexpr Words kNumbers = {"three", "six", "seven", "nine", "ten", "eleven", "twelve", "two", "eight"};
constexpr Words kPlanets = {"Mercury", "Venus", "Mars", "Jupiter", "Saturn", "Neptune", "Uranus", "Earth"};
constexpr Words kShapes = {"circle", "square", "triangle", "cube", "cone", "ring", "cross", "oval", "star"};
constexpr Words kSweets = {"candy", "lollipop", "chocolate", "honey", "cake", "jam", "pie", "toffee", "fudge"};
constexpr Words kToys = {"ball", "doll", "kite", "drum", "bell", "puzzle", "rope", "top", "marble"};
constexpr Words kTrades = {"baker", "doctor", "teacher", "farmer", "painter", "sailor", "tailor", "miner", "nurse"};
constexpr Words kTrees = {"oak", "pine", "birch", "willow", "elm", "fir", "maple", "beech", "ash"};
constexpr Words kUnits = {"metre", "mile", "litre", "gram", "hour", "minute", "inch", "ounce", "yard"};
constexpr Words kVegetables = {"carrot", "onion", "potato", "cabbage", "bean", "pea", "leek", "turnip", "radish"};

enum : std::size_t {
  beast,
  bird,
  building,
  city,
  colour,
  container,
  country,
  day,
  fish,
  fruit,
  insect,
  liquid,
  metal,
  month,
  number,
  planet,
  shape,
  sweet,
  toy,
  trade,
  tree,
  unit,
  vegetable
};
constexpr Kind kKinds[] = {
    {"beast", kBeasts},
    {"bird", kBirds},
    {"building", kBuildings},
    {"city", kCities},
    {"colour", kColours},
    {"container", kContainerWords},
    {"country", kCountries},
    {"day", kDays},
    {"fish", kFish},
    {"fruit", kFruits},
    {"insect", kInsects},
    {"liquid", kLiquids},
    {"metal", kMetals},
    {"month", kMonths},
    {"number", kNumbers},
    {"planet", kPlanets},
    {"shape", kShapes},
    {"sweet", kSweets},
    {"toy", kToys},
    {"trade", kTrades},
    {"tree", kTrees},
    {"unit", kUnits},
    {"vegetable", kVegetables},
};

constexpr Subject subject(std::string_view name, std::array<std::size_t, kChoices> kinds) {
  return {name, {&kKinds[kinds[0]], &kKinds[kinds[1]], &kKinds[kinds[2]], &kKinds[kinds[3]]}};
}
constexpr Subject kSubjects[] = {
    subject("astronomy", {day, month, number, planet}),
    subject("conceptual_physics", {colour, liquid, metal, shape}),
    subject("elementary_mathematics", {container, number, shape, unit}),
    subject("formal_logic", {beast, building, container, trade}),
    subject("high_school_biology", {bird, fish, insect, tree}),
    subject("high_school_geography", {building, city, country, tree}),
    subject("miscellaneous", {beast, colour, day, toy}),
    subject("nutrition", {fruit, liquid, sweet, vegetable}),
};

constexpr Person she(std::string_view name) {
  return {name, "she", "her", "her"};
}
constexpr Person he(std::string_view name) {
  return {name, "he", "him", "his"};
}
constexpr Person kPeople[] = {she("Mia"),  she("Ana"),  she("Lily"), she("Rosa"), she("Nora"), she("Ella"), she("Ruth"),
                              she("Jane"), she("Kate"), she("Emma"), he("Tom"),   he("Sam"),   he("Ben"),   he("Max"),
                              he("Leo"),   he("Jack"),  he("Paul"),  he("Hugo"),  he("Finn"),  he("Carl")};

constexpr Thing kThings[] = {{"ball", "balls"}, {"book", "books"}, {"cup", "cups"},   {"kite", "kites"},
                             {"key", "keys"},   {"hat", "hats"},   {"lamp", "lamps"}, {"doll", "dolls"},
                             {"coin", "coins"}, {"pen", "pens"},   {"bell", "bells"}, {"apple", "apples"}};
constexpr Thing kContainers[] = {{"box", "boxes"}, {"bag", "bags"}, {"basket", "baskets"}, {"jar", "jars"}};

constexpr Words kPlaces = {"in the garden", "in the barn", "at the school", "in the park",   "at the market",
                           "at the lake",   "on the hill", "on the beach",  "on the bridge", "at the mill"};

}  // namespace

std::span<const Kind> kinds() {
  return kKinds;
}

std::span<const Subject> subjects() {
  return kSubjects;
}

std::span<const Person> people() {
  return kPeople;
}

std::span<const Thing> things() {
  return kThings;
}

std::span<const Thing> containers() {
  return kContainers;
}

std::span<const std::string_view> places() {
  return kPlaces;
}

std::string with_article(std::string_view word) {
  const bool has_vowel = std::string_view("aeiou").find(word[0]) != std::string_view::npos && !word.starts_with("uni");
  return fmt::format("{} {}", has_vowel ? "an" : "a", word);
}

std::string counted(int count, const Thing& thing) {
  return fmt::format("{} {}", count, count == 1 ? thing.singular : thing.plural);
}

std::string sentence(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace crope::world
