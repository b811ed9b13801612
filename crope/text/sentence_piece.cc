#include "crope/text/sentence_piece.h"

#include <queue>
#include <set>
#include <string>

#include "crope/text/char_class.h"

namespace crope::text {
namespace {

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, done)) {
    result += text.substr(done, at - done);
    result += to;
    done = at + from.size();
  }
  return result += text.substr(done);
}

// A stretch of the text that is one token so far, and its neighbours.
struct Symbol {
  std::int64_t begin, size;  // size 0: joined to the one before it
  std::int64_t previous, next;
};

struct Join {
  float score;
  std::int64_t left, right;
  std::int64_t size;  // of both together; another size of the left one makes it stale

  // The queue's top is the largest: the highest score, then the leftmost.
  bool operator<(const Join& other) const { return score != other.score ? score < other.score : left > other.left; }
};

}  // namespace

std::string marks_to_spaces(std::string_view text) {
  return replace_all(text, kSpaceMark, " ");
}

std::string spaces_to_marks(std::string_view text) {
  return replace_all(text, " ", kSpaceMark);
}

SentencePieceMerger::SentencePieceMerger(const Vocabulary& vocabulary) : pieces_(*vocabulary.pieces) {
  std::set<std::int32_t> not_text(pieces_.byte_tokens.begin(), pieces_.byte_tokens.end());
  for (const SpecialToken& special : vocabulary.special_tokens) not_text.insert(special.id);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!not_text.contains(static_cast<std::int32_t>(id))) {
      ids_.emplace(vocabulary.tokens[id], static_cast<std::int32_t>(id));
    }
  }
}

void SentencePieceMerger::append_text(std::string_view given, std::vector<std::int32_t>& ids) const {
  if (given.empty()) return;
  const std::string whole = (pieces_.add_space_prefix ? " " : "") + marks_to_spaces(given);
  const std::string_view text = whole;
  std::vector<Symbol> symbols;
  for (std::int64_t at = 0; at < std::ssize(text);) {
    const Char next = char_at(text.data() + at, text.data() + text.size());
    const auto index = static_cast<std::int64_t>(symbols.size());
    symbols.push_back({at, next.length, index - 1, index + 1});
    at += next.length;
  }
  const auto count = static_cast<std::int64_t>(symbols.size());
  std::priority_queue<Join> queue;
  const auto offer = [&](std::int64_t left, std::int64_t right) {
    if (left < 0 || right >= count) return;
    const std::int64_t size = symbols[left].size + symbols[right].size;
    const auto token = ids_.find(text.substr(symbols[left].begin, size));
    if (token != ids_.end()) queue.push({pieces_.scores[token->second], left, right, size});
  };
  for (std::int64_t i = 0; i + 1 < count; ++i) offer(i, i + 1);
  while (!queue.empty()) {
    const Join join = queue.top();
    queue.pop();
    Symbol &left = symbols[join.left], &right = symbols[join.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != join.size) continue;
    left.size += right.size;
    right.size = 0;
    left.next = right.next;
    if (right.next < count) symbols[right.next].previous = join.left;
    offer(left.previous, join.left);
    offer(join.left, left.next);
  }
  for (std::int64_t i = 0; i < count; i = symbols[i].next) {
    const std::string_view part = text.substr(symbols[i].begin, symbols[i].size);
    if (const auto token = ids_.find(part); token != ids_.end()) {
      ids.push_back(token->second);
    } else {
      for (const char byte : part) ids.push_back(pieces_.byte_tokens[static_cast<std::uint8_t>(byte)]);
    }
  }
}

}  // namespace crope::text
