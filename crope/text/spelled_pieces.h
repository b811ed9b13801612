// SentencePiece vocabularies as tokenizer.json has them: spaces as U+2581, bytes as <0x0A>, and merges in the order of
// scores.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crope/text/spelled_vocabulary.h"

namespace crope::text {

// The byte of "<0x0A>", or nothing.
std::optional<std::uint8_t> byte_of_piece(std::string_view spelling);

// How files spell token `id`. REQUIRES: the vocabulary has pieces.
std::string spell_piece(const Vocabulary& vocabulary, std::size_t id);

// All pairs of tokens that are a token together, those of the highest score first, spelled. HF's tokenizers join
// neighbours by this list where SentencePiece goes by scores. REQUIRES: the vocabulary has pieces.
std::vector<std::pair<std::string, std::string>> piece_merges(const Vocabulary& vocabulary);

// The inverse: scores from the places of merges in their list. Throws Error unless ids are 0, 1, ..., n - 1, each once,
// tokens of merges are there, and Vocabulary::check() passes.
Vocabulary unspell_pieces(const SpelledVocabulary& spelled, bool add_space_prefix);

}  // namespace crope::text
