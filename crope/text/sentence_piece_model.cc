#include "crope/text/sentence_piece_model.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/text/sentence_piece.h"
#include "crope/text/spelled_pieces.h"

namespace crope::text {
namespace {

constexpr std::uint64_t kLargestModelFile = std::uint64_t{1} << 28;

// Fields of a message, one after the other.
class MessageReader {
 public:
  MessageReader(std::string_view bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  // False at the end.
  bool next() {
    if (bytes_.empty()) return false;
    const std::uint64_t tag = varint();
    field_ = tag >> 3;
    wire_ = static_cast<int>(tag & 7);
    if (wire_ == 0) {
      number_ = varint();
    } else if (wire_ == 1 || wire_ == 5) {
      data_ = take(wire_ == 1 ? 8 : 4);
    } else if (wire_ == 2) {
      data_ = take(varint());
    } else {
      fail("an unknown kind of field");
    }
    return true;
  }

  std::uint64_t field() const { return field_; }
  std::uint64_t number() const {
    if (wire_ != 0) fail("expected a number");
    return number_;
  }
  std::string_view data() const {
    if (wire_ != 2) fail("expected a text or a message");
    return data_;
  }
  float real() const {
    if (wire_ != 5) fail("expected a number of 32 bits");
    float value;
    std::memcpy(&value, data_.data(), sizeof(value));
    return value;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(fmt::format("{}: {} where {} bytes are left", origin_, what, bytes_.size()),
                "the file is damaged or not a SentencePiece model");
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) fail("truncated");
      const auto byte = static_cast<std::uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number of more than 64 bits");
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) fail("truncated");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  const std::string& origin_;
  std::uint64_t field_ = 0, number_ = 0;
  int wire_ = 0;
  std::string_view data_;
};

// Numbers of SentencePiece's message definitions.
enum PieceKind : std::uint64_t {
  kNormalPiece = 1,
  kUnknownPiece = 2,
  kControlPiece = 3,
  kUserPiece = 4,
  kBytePiece = 6
};
constexpr std::uint64_t kPiecesField = 1, kTrainerField = 2, kNormalizerField = 3;
constexpr std::uint64_t kModelTypeField = 3, kDummyPrefixField = 3, kBpeModel = 2;

void read_piece(MessageReader message, const std::string& origin, Vocabulary& vocabulary) {
  std::string spelling;
  float score = 0;
  std::uint64_t kind = kNormalPiece;
  while (message.next()) {
    if (message.field() == 1) spelling = message.data();
    if (message.field() == 2) score = message.real();
    if (message.field() == 3) kind = message.number();
  }
  const auto id = static_cast<std::int32_t>(vocabulary.tokens.size());
  if (kind == kBytePiece) {
    const auto byte = byte_of_piece(spelling);
    if (!byte) throw Error(fmt::format("{}: token {} is a byte, but spelled '{}'", origin, id, spelling));
    vocabulary.pieces->byte_tokens[*byte] = id;
    vocabulary.tokens.emplace_back(1, static_cast<char>(*byte));
  } else if (kind == kControlPiece || kind == kUnknownPiece) {
    vocabulary.special_tokens.push_back({spelling, id});
    vocabulary.tokens.push_back(spelling);
  } else {
    vocabulary.tokens.push_back(marks_to_spaces(spelling));
  }
  vocabulary.pieces->scores.push_back(score);
}

void check_type(MessageReader trainer, const std::string& origin) {
  constexpr std::array<const char*, 5> kNames = {"none", "unigram", "BPE", "word", "char"};
  std::uint64_t type = 1;
  while (trainer.next()) {
    if (trainer.field() == kModelTypeField) type = trainer.number();
  }
  if (type == kBpeModel) return;
  throw Error(fmt::format("{}: a SentencePiece model of type {}, expected BPE", origin,
                          type < kNames.size() ? kNames[type] : "unknown"),
              "only BPE models are supported");
}

}  // namespace

Vocabulary read_sentence_piece_model(const std::filesystem::path& path) {
  const std::string origin = path.string(), bytes = read_file(path, kLargestModelFile);
  Vocabulary vocabulary{.pieces = SentencePieces{}};
  vocabulary.pieces->byte_tokens.assign(256, -1);
  bool has_trainer = false;
  for (MessageReader model(bytes, origin); model.next();) {
    if (model.field() == kPiecesField) read_piece(MessageReader(model.data(), origin), origin, vocabulary);
    if (model.field() == kTrainerField) {
      has_trainer = true;
      check_type(MessageReader(model.data(), origin), origin);
    }
    if (model.field() != kNormalizerField) continue;
    for (MessageReader normalizer(model.data(), origin); normalizer.next();) {
      if (normalizer.field() == kDummyPrefixField) vocabulary.pieces->add_space_prefix = normalizer.number() != 0;
    }
  }
  if (!has_trainer || vocabulary.tokens.empty()) {
    throw Error(fmt::format("{}: no tokens, or no description of how they were trained", origin),
                "the file is damaged or not a SentencePiece model");
  }
  vocabulary.check(origin);
  return vocabulary;
}

}  // namespace crope::text
