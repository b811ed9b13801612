// Text to words, before any merging. GPT-2's are contractions, and runs of letters, numbers, other characters or white
// space, each with the one space before it; other families cut differently (vocabulary.h).
//
// Scanners by hand, ten times as fast as a regular expression; split_words_by_pattern() is their twin and
// specification.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "crope/text/vocabulary.h"

namespace crope::text {

// The end of the word that begins at `begin`. Words cover the text without gaps.
// A byte that is not valid UTF-8 is a word of its own, and the text on either side is split as if it stood alone.
// REQUIRES: begin < text.size(), and begin is 0 or the end of a word.
std::size_t word_end(std::string_view text, std::size_t begin, WordSplit split = WordSplit::gpt2);

// A place at or after `from` where the text can be cut in two without changing its words; text.size() if there is
// none. The place stands between a letter and a space with a letter behind it, where every family cuts.
std::size_t safe_cut(std::string_view text, std::size_t from);

// All words of the text, by word_end.
std::vector<std::string_view> split_words(std::string_view text, WordSplit split = WordSplit::gpt2);

// All words of the text, by the family's patterns in PCRE2.
std::vector<std::string_view> split_words_by_pattern(std::string_view text, WordSplit split = WordSplit::gpt2);

}  // namespace crope::text
