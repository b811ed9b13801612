#include "crope/world/item.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace crope::world {
namespace {

using Order = std::array<std::size_t, kChoices>;

Order random_order(RandomStream& random) {
  Order order;
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  return order;
}

// A random order that ends with `last`.
Order order_ending_with(std::size_t last, RandomStream& random) {
  Order order = random_order(random);
  std::swap(*std::find(order.begin(), order.end(), last), order.back());
  return order;
}

// One word of each kind of the subject, written down by somebody.
struct WrittenWords {
  std::array<std::string_view, kChoices> words;  // word i is of the subject's kind i
  std::string context;
  Fingerprint fingerprint;
};

WrittenWords write_words(std::string_view family, const Subject& subject, Side side, RandomStream& random) {
  WrittenWords written;
  written.fingerprint.add({family});
  for (std::size_t i = 0; i < kChoices; ++i) {
    written.words[i] = pick_word(subject.kinds[i]->words, side, random);
    written.fingerprint.add({subject.kinds[i]->name, written.words[i]});
  }
  const Order order = random_order(random);
  written.context = fmt::format("{} wrote {}, {}, {} and {}.", pick(people(), random).name, written.words[order[0]],
                                written.words[order[1]], written.words[order[2]], written.words[order[3]]);
  return written;
}

}  // namespace

Item draw_naming(const Subject& subject, std::size_t answer, Side side, RandomStream& random) {
  WrittenWords written = write_words("naming", subject, side, random);
  const Order order = order_ending_with(answer, random);
  const auto word = [&](std::size_t place) { return written.words[order[place]]; };
  const std::string which = fmt::format("that is not {}, {} or {}, but {}", word(0), word(1), word(2), word(3));
  Item item{.family = "naming",
            .activity = "Naming things",
            .subject = subject.name,
            .context = std::move(written.context),
            .question = fmt::format("Of which kind is the word {}?", which),
            .short_question = fmt::format("Of which kind is the word {}?", word(3)),
            .stem = fmt::format("the word {}, is of the kind", which),
            .short_stem = fmt::format("the word {} is of the kind", word(3)),
            .choices = {},
            .answer = answer,
            .fingerprint = written.fingerprint};
  for (std::size_t i = 0; i < kChoices; ++i) item.choices[i] = subject.kinds[i]->name;
  return item;
}

Item draw_sorting(const Subject& subject, std::size_t answer, Side side, RandomStream& random) {
  WrittenWords written = write_words("sorting", subject, side, random);
  const std::size_t asked = random.below(kChoices);
  const Order order = order_ending_with(asked, random);
  const auto kind = [&](std::size_t place) { return with_article(subject.kinds[order[place]]->name); };
  const std::string which = fmt::format("is not {}, {} or {}, but {}", kind(0), kind(1), kind(2), kind(3));
  Item item{.family = "sorting",
            .activity = "Sorting words",
            .subject = subject.name,
            .context = std::move(written.context),
            .question = fmt::format("Which word {}?", which),
            .short_question = fmt::format("Which word is {}?", kind(3)),
            .stem = fmt::format("the word that {}, is", which),
            .short_stem = fmt::format("the {} is", subject.kinds[asked]->name),
            .choices = {},
            .answer = answer,
            .fingerprint = written.fingerprint};
  Order places = random_order(random);  // of the words among the choices
  std::swap(*std::find(places.begin(), places.end(), asked), places[answer]);
  for (std::size_t i = 0; i < kChoices; ++i) item.choices[i] = written.words[places[i]];
  return item;
}

}  // namespace crope::world
