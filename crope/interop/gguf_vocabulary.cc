#include "crope/interop/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "crope/base/error.h"
#include "crope/text/sentence_piece.h"
#include "crope/text/spelled_pieces.h"

namespace crope::interop {
namespace {

using formats::GgufFile;
using text::Vocabulary;
using text::WordSplit;

// The first name of each is the one that we write.
constexpr std::pair<const char*, WordSplit> kSplitNames[] = {
    {"gpt-2", WordSplit::gpt2},    {"smollm", WordSplit::smollm},   {"llama-bpe", WordSplit::llama3},
    {"llama3", WordSplit::llama3}, {"llama-v3", WordSplit::llama3}, {"qwen2", WordSplit::qwen2},
};

// Tokens with their kinds.
struct TokenRows {
  const std::vector<std::string>& spellings;
  std::vector<std::int32_t> kinds;
};

[[noreturn]] void refuse_list(const GgufFile& file, const char* key, std::size_t found, std::size_t expected) {
  throw Error(fmt::format("{}: {} has {} entries for {} tokens", file.path().string(), key, found, expected));
}

TokenRows read_rows(const GgufFile& file) {
  TokenRows rows{file.value<std::vector<std::string>>("tokenizer.ggml.tokens"), {}};
  constexpr const char* kKinds = "tokenizer.ggml.token_type";
  if (file.find_value(kKinds) == nullptr) {
    rows.kinds.assign(rows.spellings.size(), kNormalToken);
  } else {
    rows.kinds = file.value<std::vector<std::int32_t>>(kKinds);
  }
  if (rows.kinds.size() != rows.spellings.size()) refuse_list(file, kKinds, rows.kinds.size(), rows.spellings.size());
  return rows;
}

bool is_special(std::int32_t kind) {
  return kind == kControlToken || kind == kUserToken || kind == kUnknownToken;
}

Vocabulary read_byte_level(const GgufFile& file) {
  const std::string& pre = file.value<std::string>("tokenizer.ggml.pre");
  const auto* split = std::ranges::find_if(kSplitNames, [&](const auto& row) { return pre == row.first; });
  if (split == std::end(kSplitNames)) {
    throw Error(fmt::format("{}: tokenizer.ggml.pre is '{}', expected gpt-2, smollm, llama-bpe or qwen2",
                            file.path().string(), pre),
                "this way to split words is not supported");
  }
  const TokenRows rows = read_rows(file);
  text::SpelledVocabulary spelled{.origin = file.path().string()};
  for (std::size_t id = 0; id < rows.spellings.size(); ++id) {
    if (is_special(rows.kinds[id])) {
      spelled.special_tokens.push_back({rows.spellings[id], static_cast<std::int32_t>(id)});
    } else {
      spelled.tokens.emplace_back(rows.spellings[id], static_cast<std::int64_t>(id));
    }
  }
  const auto& merges = file.value<std::vector<std::string>>("tokenizer.ggml.merges");
  for (const std::string& merge : merges) {
    spelled.merges.push_back(text::split_merge(merge, spelled.origin, spelled.merges.size()));
  }
  Vocabulary vocabulary = text::unspell(spelled);
  vocabulary.split = split->second;
  vocabulary.whole_words_first = split->second == WordSplit::llama3;
  return vocabulary;
}

Vocabulary read_pieces(const GgufFile& file) {
  const TokenRows rows = read_rows(file);
  Vocabulary vocabulary{.pieces = text::SentencePieces{}};
  text::SentencePieces& pieces = *vocabulary.pieces;
  pieces.scores = file.value<std::vector<float>>("tokenizer.ggml.scores");
  if (pieces.scores.size() != rows.spellings.size()) {
    refuse_list(file, "tokenizer.ggml.scores", pieces.scores.size(), rows.spellings.size());
  }
  constexpr const char* kPrefix = "tokenizer.ggml.add_space_prefix";
  if (file.find_value(kPrefix) != nullptr) pieces.add_space_prefix = file.value<bool>(kPrefix);
  pieces.byte_tokens.assign(256, -1);
  for (std::size_t id = 0; id < rows.spellings.size(); ++id) {
    const std::string& spelling = rows.spellings[id];
    const auto byte = rows.kinds[id] == kByteToken ? text::byte_of_piece(spelling) : std::nullopt;
    if (byte) {
      pieces.byte_tokens[*byte] = static_cast<std::int32_t>(id);
      vocabulary.tokens.emplace_back(1, static_cast<char>(*byte));
    } else if (is_special(rows.kinds[id])) {
      vocabulary.special_tokens.push_back({spelling, static_cast<std::int32_t>(id)});
      vocabulary.tokens.push_back(spelling);
    } else {
      vocabulary.tokens.push_back(text::marks_to_spaces(spelling));
    }
  }
  vocabulary.check(file.path().string());
  return vocabulary;
}

}  // namespace

const char* gguf_split_name(WordSplit split) {
  return std::ranges::find_if(kSplitNames, [&](const auto& row) { return row.second == split; })->first;
}

std::optional<Vocabulary> read_gguf_vocabulary(const GgufFile& file) {
  constexpr const char* kModel = "tokenizer.ggml.model";
  if (file.find_value(kModel) == nullptr) return std::nullopt;
  const std::string& model = file.value<std::string>(kModel);
  if (model == "no_vocab" || model == "none") return std::nullopt;
  if (model == "gpt2") return read_byte_level(file);
  if (model == "llama") return read_pieces(file);
  throw Error(fmt::format("{}: {} is '{}', expected gpt2 or llama", file.path().string(), kModel, model),
              "this family of tokenizers is not supported");
}

Json gguf_token_ids(const GgufFile& file, std::int64_t vocab_size) {
  const auto find = [&](const char* name) -> std::optional<std::int64_t> {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    const std::optional<std::int64_t> id = file.find_integer(key);
    if (!id || (*id >= 0 && *id < vocab_size)) return id;
    throw Error(fmt::format("{}: {} is {}, outside the vocabulary of {}", file.path().string(), key, *id, vocab_size));
  };
  Json ids = Json::object();
  if (const auto begin = find("bos")) ids["bos_token_id"] = *begin;
  if (const auto end = find("eos")) {
    const auto turn = find("eot");
    ids["eos_token_id"] = turn && *turn != *end ? Json::array({*end, *turn}) : Json(*end);
  }
  if (const auto pad = find("padding")) ids["pad_token_id"] = *pad;
  return ids;
}

}  // namespace crope::interop
