#include "crope/data/world_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "crope/base/error.h"

namespace crope::data {
namespace {

[[noreturn]] void throw_bad_slot(std::string_view pattern, std::string_view slot) {
  throw Error(fmt::format("the pattern \"{}\" asks for {{{}}}, which there is not", pattern, slot));
}

const Slot& find_slot(std::string_view pattern, std::span<const Slot> slots, std::string_view name) {
  for (const Slot& slot : slots) {
    if (slot.name == name) return slot;
  }
  throw_bad_slot(pattern, name);
}

void append_number(int number, std::string& out) {
  char digits[16];
  const auto [end, code] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

std::string_view pronoun_of(Pronoun pronoun, std::string_view he, std::string_view she, std::string_view it) {
  return pronoun == Pronoun::he ? he : pronoun == Pronoun::she ? she : it;
}

// The words of one slot: `text` is what stands between the braces.
void append_slot(std::string_view pattern, std::span<const Slot> slots, std::string_view text, std::string& out) {
  if (const std::size_t space = text.find(' '); space != std::string_view::npos) {
    const int number = find_slot(pattern, slots, text.substr(0, space)).number;
    const Phrase* noun = find_slot(pattern, slots, text.substr(space + 1)).phrase;
    if (noun == nullptr || noun->plural.empty()) throw_bad_slot(pattern, text);
    append_number(number, out);
    out += ' ';
    out += number == 1 ? noun->text : noun->plural;
    return;
  }
  const std::size_t colon = text.find(':');
  const Slot& slot = find_slot(pattern, slots, text.substr(0, colon));
  const std::string_view form = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (slot.phrase == nullptr) {
    if (form.empty()) return append_number(slot.number, out);
    if (form != "is") throw_bad_slot(pattern, text);
    out += slot.number == 1 ? "is" : "are";
    return;
  }
  const Phrase& phrase = *slot.phrase;
  if (form.empty()) {
    out += phrase.text;
  } else if (form == "the") {
    out += "the ";
    out += phrase.text;
  } else if (form == "a") {
    out += article(phrase.text);
    out += ' ';
    out += phrase.text;
  } else if (form == "s" && !phrase.plural.empty()) {
    out += phrase.plural;
  } else if (form == "at" && !phrase.at.empty()) {
    out += phrase.at;
  } else if (form == "he") {
    out += pronoun_of(phrase.pronoun, "he", "she", "it");
  } else if (form == "him") {
    out += pronoun_of(phrase.pronoun, "him", "her", "it");
  } else if (form == "his") {
    out += pronoun_of(phrase.pronoun, "his", "her", "its");
  } else {
    throw_bad_slot(pattern, text);
  }
}

void capitalise(std::string& text, std::size_t place) {
  if (place < text.size() && text[place] >= 'a' && text[place] <= 'z') text[place] += 'A' - 'a';
}

bool ends_sentence(char c) {
  return c == '.' || c == '?' || c == '!';
}

}  // namespace

void expand(std::string_view pattern, std::span<const Slot> slots, Start start, std::string& out) {
  bool capital = start == Start::sentence;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::size_t begin = out.size();
    if (pattern[i] == '{') {
      const std::size_t close = pattern.find('}', i);
      if (close == std::string_view::npos) throw_bad_slot(pattern, pattern.substr(i + 1));
      append_slot(pattern, slots, pattern.substr(i + 1, close - i - 1), out);
      i = close + 1;
    } else {
      const std::size_t end = std::min(pattern.find_first_of("{.?!", i), pattern.size());
      const std::size_t length = end > i ? end - i : 1;
      out += pattern.substr(i, length);
      i += length;
    }
    if (capital) {
      // A space between two sentences waits with the capital.
      const std::size_t letter = out.find_first_not_of(' ', begin);
      capitalise(out, letter);
      capital = letter == std::string::npos;
    }
    if (out.size() > begin && ends_sentence(out.back())) capital = true;
  }
}

std::string expand(std::string_view pattern, std::initializer_list<Slot> slots, Start start) {
  std::string out;
  expand(pattern, std::span(slots.begin(), slots.size()), start, out);
  return out;
}

std::string_view article(std::string_view word) {
  if (word.starts_with("uni")) return "a";  // sounds like "you"
  return std::string_view("aeiouAEIOU").find(word.empty() ? ' ' : word.front()) != std::string_view::npos ? "an" : "a";
}

void append_capitalised(std::string_view text, std::string& out) {
  const std::size_t begin = out.size();
  out += text;
  capitalise(out, begin);
}

}  // namespace crope::data
