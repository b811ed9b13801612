// A setting that is one of a few words, typed: an enumeration that is read from and written as its name.
//
//   enum class RowOrder { sequential, shuffled };
//   template <> struct ChoiceNames<RowOrder> { static constexpr auto kNames = choice_names<RowOrder>({...}); };
//   Choice<RowOrder> order = RowOrder::shuffled;   // order.name() == "shuffled"
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "crope/base/json_fields.h"

namespace crope {

template <typename E, std::size_t N>
constexpr std::array<std::pair<E, std::string_view>, N> choice_names(const std::pair<E, std::string_view> (&names)[N]) {
  return std::to_array(names);
}

// Specialised beside each enumeration: kNames lists its values with their names.
template <typename E>
struct ChoiceNames;

// Throws UsageError "<field>: expected a, b or c, found 'x'" with the nearest name as a hint.
[[noreturn]] void refuse_choice(std::string_view field, std::string_view word, const std::vector<std::string>& names);

template <typename E>
class Choice {
 public:
  constexpr Choice(E value) : value_(value) {}
  constexpr operator E() const { return value_; }

  // Throws UsageError naming `field` and the choices.
  static Choice by_name(std::string_view word, std::string_view field) {
    std::vector<std::string> names;
    for (const auto& [value, name] : ChoiceNames<E>::kNames) {
      if (name == word) return value;
      names.emplace_back(name);
    }
    refuse_choice(field, word, names);
  }

  constexpr std::string_view name() const {
    for (const auto& [value, name] : ChoiceNames<E>::kNames) {
      if (value == value_) return name;
    }
    return "";
  }

  friend void to_json(Json& json, const Choice& choice) { json = std::string(choice.name()); }

 private:
  E value_;
};

template <typename T>
inline constexpr bool kIsChoice = false;
template <typename E>
inline constexpr bool kIsChoice<Choice<E>> = true;

// json_value() for every type that a setting can have, choices included.
template <typename T>
T setting_value(const Json& value, std::string_view field, std::string_view origin) {
  if constexpr (kIsChoice<T>) {
    return T::by_name(json_value<std::string>(value, field, origin), std::string(origin) + ": " + std::string(field));
  } else {
    return json_value<T>(value, field, origin);
  }
}

}  // namespace crope
