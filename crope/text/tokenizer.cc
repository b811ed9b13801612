#include "crope/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>

#include "crope/base/error.h"
#include "crope/text/bpe_merger.h"
#include "crope/text/pretokenizer.h"
#include "crope/text/tokenizer_json.h"
#include "crope/text/word_cache.h"

namespace crope::text {
namespace {

// Pieces of one text for several threads are at least this long.
constexpr std::size_t kShortestPiece = std::size_t{1} << 16;

// Calls work(i) for all i < count on `threads` threads; the first exception ends it and is thrown on.
template <typename Work>
void for_each_index(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = count;
    }
  };
  const std::size_t helpers = std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), count);
  std::vector<std::jthread> crew;
  for (std::size_t i = 1; i < helpers; ++i) crew.emplace_back(run);
  run();
  crew.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

struct Tokenizer::State {
  explicit State(Vocabulary given) : vocabulary(std::move(given)), merger(vocabulary) {
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
      ids_by_bytes.emplace(vocabulary.tokens[id], static_cast<std::int32_t>(id));
    }
    for (const SpecialToken& special : vocabulary.special_tokens) {
      specials.push_back(&special);
      if (special.content == kEndOfText) end_of_text = special.id;
    }
    std::ranges::sort(specials, {}, &SpecialToken::content);
  }

  // The cache that is not `full`. A caller keeps it for the time of one call at most.
  std::shared_ptr<WordCache> current_cache(const std::shared_ptr<WordCache>& full = nullptr) const {
    const std::lock_guard lock(mutex);
    if (cache == full) cache = std::make_shared<WordCache>();
    return cache;
  }

  void encode_append(std::string_view text, std::vector<std::int32_t>& ids) const {
    std::shared_ptr<WordCache> known = current_cache();
    const char* const text_end = text.data() + text.size();
    std::vector<std::int32_t> fresh;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = word_end(text, begin);
      const WordKey key = WordKey::of(text.substr(begin, end - begin), text_end);
      begin = end;
      std::span<const std::int32_t> tokens = known->find(key);
      if (tokens.empty()) {
        fresh.clear();
        merger.append_word(key.word, fresh);
        if (!known->insert(key, fresh)) known = current_cache(known);
        tokens = fresh;
      }
      if (tokens.size() == 1) {
        ids.push_back(tokens.front());
      } else {
        ids.insert(ids.end(), tokens.begin(), tokens.end());
      }
    }
  }

  // The longest special token that starts at `place`, or null.
  const SpecialToken* special_at(std::string_view text, std::size_t place) const {
    const SpecialToken* longest = nullptr;
    // Those that begin as the text does: a stretch of the sorted list, narrowed byte by byte.
    std::span<const SpecialToken* const> alike = specials;
    for (std::size_t size = 0; !alike.empty(); ++size) {
      if (alike.front()->content.size() == size) {
        longest = alike.front();
        alike = alike.subspan(1);
      }
      if (place + size == text.size()) break;
      const auto byte = [size](const SpecialToken* special) {
        return static_cast<std::uint8_t>(special->content[size]);
      };
      const auto found = std::ranges::equal_range(alike, static_cast<std::uint8_t>(text[place + size]), {}, byte);
      alike = {found.begin(), found.end()};
    }
    return longest;
  }

  std::string_view token_bytes(std::int32_t id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= vocabulary.tokens.size()) {
      throw Error(fmt::format("token id {} is outside the vocabulary of {} (0 to {})", id, vocabulary.tokens.size(),
                              vocabulary.tokens.size() - 1),
                  "the ids may come from another tokenizer");
    }
    return vocabulary.tokens[id];
  }

  const Vocabulary vocabulary;
  const BpeMerger merger;
  std::unordered_map<std::string_view, std::int32_t> ids_by_bytes;
  std::vector<const SpecialToken*> specials;  // sorted by their bytes
  std::optional<std::int32_t> end_of_text;
  mutable std::mutex mutex;
  mutable std::shared_ptr<WordCache> cache;  // none before the first text
};

Tokenizer Tokenizer::load(const std::filesystem::path& dir_or_file) {
  return Tokenizer(std::make_shared<const State>(read_tokenizer_json(dir_or_file)));
}

Tokenizer::Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Tokenizer::Tokenizer(Vocabulary vocabulary) {
  vocabulary.check("vocabulary");
  state_ = std::make_shared<const State>(std::move(vocabulary));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size() / 4 + 1);
  state_->encode_append(text, ids);
  return ids;
}

void Tokenizer::encode_append(std::string_view text, std::vector<std::int32_t>& ids) const {
  state_->encode_append(text, ids);
}

std::vector<std::int32_t> Tokenizer::encode_with_special(std::string_view text) const {
  std::vector<std::int32_t> ids;
  std::size_t begin = 0;
  for (std::size_t place = 0; place < text.size();) {
    const SpecialToken* special = state_->special_at(text, place);
    if (special == nullptr) {
      ++place;
      continue;
    }
    state_->encode_append(text.substr(begin, place - begin), ids);
    ids.push_back(special->id);
    begin = place += special->content.size();
  }
  state_->encode_append(text.substr(begin), ids);
  return ids;
}

std::vector<std::vector<std::int32_t>> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                                               int threads) const {
  std::vector<std::vector<std::int32_t>> results(texts.size());
  for_each_index(texts.size(), threads, [&](std::size_t i) { results[i] = encode(texts[i]); });
  return results;
}

std::vector<std::int32_t> Tokenizer::encode_parallel(std::string_view text, int threads) const {
  const std::size_t shares = static_cast<std::size_t>(std::max(threads, 1)) * 4;
  const std::size_t length = std::max(kShortestPiece, text.size() / shares);
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t cut = length < text.size() ? safe_cut(text, length) : text.size();
    pieces.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  std::vector<std::vector<std::int32_t>> parts = encode_batch(pieces, threads);
  if (parts.empty()) return {};
  std::vector<std::int32_t> ids = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) ids.insert(ids.end(), parts[i].begin(), parts[i].end());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += state_->token_bytes(id);
  return text;
}

std::string_view Tokenizer::token_bytes(std::int32_t id) const {
  return state_->token_bytes(id);
}

std::optional<std::int32_t> Tokenizer::find_token(std::string_view bytes) const {
  const auto place = state_->ids_by_bytes.find(bytes);
  if (place == state_->ids_by_bytes.end()) return std::nullopt;
  return place->second;
}

std::int32_t Tokenizer::vocab_size() const {
  return static_cast<std::int32_t>(state_->vocabulary.tokens.size());
}

std::optional<std::int32_t> Tokenizer::end_of_text() const {
  return state_->end_of_text;
}

std::string Tokenizer::fingerprint() const {
  return state_->vocabulary.fingerprint();
}

const Vocabulary& Tokenizer::vocabulary() const {
  return state_->vocabulary;
}

}  // namespace crope::text
