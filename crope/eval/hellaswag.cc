#include "crope/eval/hellaswag.h"

#include "crope/eval/document_task.h"
#include "crope/eval/python_text.h"

namespace crope::eval {
namespace {

// Removes "[...]" up to the first bracket that closes, where both stand in one line.
std::string remove_bracketed(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('[');
    const std::size_t close = open == std::string_view::npos ? open : text.find_first_of("]\n", open + 1);
    if (close == std::string_view::npos) return out += text;
    if (text[close] == '\n') {
      // No bracket before the end of this line closes the one opened here, nor any opened after it.
      out += text.substr(0, close + 1);
    } else {
      out += text.substr(0, open);
    }
    text.remove_prefix(close + 1);
  }
}

}  // namespace

std::string clean_hellaswag(std::string_view text) {
  const std::string titled = replace_all(strip(text), " [title]", ". ");
  return replace_all(remove_bracketed(titled), "  ", " ");
}

Item read_hellaswag(BenchmarkRow& document, const TaskRow& row) {
  const std::string context = string_field(document, "ctx_a") + " " + capitalize(string_field(document, "ctx_b"));
  document.fields["query"] = clean_hellaswag(string_field(document, "activity_label") + ": " + context);
  Item item{.context = fill_template(row.doc_to_text, document)};
  for (const std::string& ending : strings_field(document, "endings")) item.choices.push_back(clean_hellaswag(ending));
  item.gold = index_field(document, "label", item.choices.size());
  document.fields["choices"] = item.choices;
  document.fields["gold"] = item.gold;
  return item;
}

}  // namespace crope::eval
