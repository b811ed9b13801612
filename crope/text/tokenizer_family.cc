#include "crope/text/tokenizer_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/json_fields.h"
#include "crope/text/sentence_piece.h"

namespace crope::text {
namespace {

constexpr const char* kFamiliesHint =
    "supported: byte-level BPE as GPT-2, SmolLM, Llama 3 and Qwen 2 have it, and SentencePiece's BPE";

constexpr std::pair<WordSplit, const char*> kSplitPatterns[] = {
    {WordSplit::llama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {WordSplit::qwen2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

// The member of an object, or null when there is none.
const Json& part_of(const Json& object, const std::string& name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto place = object.find(name);
  return place == object.end() ? null : *place;
}

class FamilyReader {
 public:
  FamilyReader(const Json& root, const std::string& origin) : root_(root), origin_(origin) {}

  TokenizerFamily read() {
    const Json& model = part_of(root_, "model");
    if (!model.is_object()) refuse("model", model, "an object");
    if (part_of(model, "type") != "BPE") refuse("model.type", part_of(model, "type"), "\"BPE\"");
    check(model, "model", "dropout", {0.0});
    check(model, "model", "continuing_subword_prefix", {""});
    check(model, "model", "end_of_word_suffix", {""});
    check(model, "model", "byte_fallback", {false, true});
    check(model, "model", "ignore_merges", {false, true});
    family_.whole_words_first = part_of(model, "ignore_merges") == true;
    family_.sentence_pieces = part_of(model, "byte_fallback") == true;
    if (family_.sentence_pieces) {
      read_marks();
    } else {
      read_words();
    }
    return family_;
  }

 private:
  [[noreturn]] void refuse(const std::string& field, const Json& value, const std::string& expected) const {
    throw Error(fmt::format("{}: {}: {}", origin_, field, expected_found(expected, value.is_null() ? nullptr : &value)),
                kFamiliesHint);
  }

  // Fields that may be absent and otherwise must say one of these.
  void check(const Json& object, const std::string& place, const std::string& name,
             const std::vector<Json>& allowed) const {
    const Json& value = part_of(object, name);
    if (value.is_null() || std::ranges::find(allowed, value) != allowed.end()) return;
    refuse(place + "." + name, value, allowed.front().dump() + " or nothing");
  }

  // A step, or those of a Sequence in its field `list`.
  std::vector<Json> steps(const std::string& field, const char* list) const {
    const Json& step = part_of(root_, field);
    if (step.is_null()) return {};
    if (!step.is_object()) refuse(field, step, "an object");
    if (part_of(step, "type") != "Sequence") return {step};
    const Json& members = part_of(step, list);
    if (!members.is_array()) refuse(field + "." + list, members, "an array");
    return {members.begin(), members.end()};
  }

  void read_words() {
    const std::vector<Json> normalizers = steps("normalizer", "normalizers");
    family_.compose = normalizers.size() == 1 && part_of(normalizers[0], "type") == "NFC";
    if (!normalizers.empty() && !family_.compose) refuse("normalizer", part_of(root_, "normalizer"), "nothing or NFC");
    std::vector<Json> cuts = steps("pre_tokenizer", "pretokenizers");
    if (cuts.empty() || part_of(cuts.back(), "type") != "ByteLevel") {
      refuse("pre_tokenizer", part_of(root_, "pre_tokenizer"), "ByteLevel at the end");
    }
    check(cuts.back(), "pre_tokenizer", "add_prefix_space", {false});
    const bool by_gpt2 = part_of(cuts.back(), "use_regex") != false;
    if (cuts.size() == 1 && by_gpt2) {
      family_.split = WordSplit::gpt2;
    } else if (cuts.size() == 2 && by_gpt2 && part_of(cuts[0], "type") == "Digits" &&
               part_of(cuts[0], "individual_digits") == true) {
      family_.split = WordSplit::smollm;
    } else if (cuts.size() == 2 && !by_gpt2 && part_of(cuts[0], "type") == "Split") {
      family_.split = split_of(cuts[0]);
    } else {
      refuse("pre_tokenizer", part_of(root_, "pre_tokenizer"),
             "ByteLevel, Digits and ByteLevel, or Split and ByteLevel");
    }
    const std::vector<Json> decoders = steps("decoder", "decoders");
    if (decoders.size() != 1 || part_of(decoders[0], "type") != "ByteLevel") {
      refuse("decoder", part_of(root_, "decoder"), "ByteLevel");
    }
  }

  WordSplit split_of(const Json& cut) const {
    check(cut, "pre_tokenizer", "behavior", {"Isolated"});
    check(cut, "pre_tokenizer", "invert", {false});
    const Json& pattern = part_of(part_of(cut, "pattern"), "Regex");
    for (const auto& [split, known] : kSplitPatterns) {
      if (pattern == known) return split;
    }
    refuse("pre_tokenizer.pattern", pattern, "the pattern of Llama 3 or Qwen 2");
  }

  void read_marks() {
    bool marks = false;
    for (const Json& step : steps("normalizer", "normalizers")) {
      const Json& type = part_of(step, "type");
      const Json& from = part_of(part_of(step, "pattern"), "String");
      if (type == "Prepend" && part_of(step, "prepend") == kSpaceMark) {
        family_.add_space_prefix = true;
      } else if (type == "Replace" && from == " " && part_of(step, "content") == kSpaceMark) {
        marks = true;
      } else {
        refuse("normalizer", step, "Prepend and Replace of U+2581");
      }
    }
    for (const Json& step : steps("pre_tokenizer", "pretokenizers")) {
      if (part_of(step, "type") != "Metaspace" || part_of(step, "split") == true) {
        refuse("pre_tokenizer", step, "nothing, or Metaspace without split");
      }
      const Json& scheme = part_of(step, "prepend_scheme");
      family_.add_space_prefix = scheme.is_null() ? part_of(step, "add_prefix_space") != false : scheme != "never";
      marks = true;
    }
    if (!marks) refuse("normalizer", part_of(root_, "normalizer"), "Replace of spaces by U+2581");
  }

  const Json& root_;
  const std::string& origin_;
  TokenizerFamily family_;
};

Json byte_level(bool add_prefix_space, bool trim_offsets, bool use_regex = true) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", use_regex}};
}

Json word_split_json(WordSplit split) {
  Json first;
  if (split == WordSplit::gpt2) return byte_level(/*add_prefix_space=*/false, /*trim_offsets=*/true);
  if (split == WordSplit::smollm) {
    first = {{"type", "Digits"}, {"individual_digits", true}};
  } else {
    const auto* row = std::ranges::find(kSplitPatterns, split, &std::pair<WordSplit, const char*>::first);
    first = {{"type", "Split"}, {"pattern", {{"Regex", row->second}}}, {"behavior", "Isolated"}, {"invert", false}};
  }
  const Json last = byte_level(/*add_prefix_space=*/false, /*trim_offsets=*/true, split == WordSplit::smollm);
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({first, last})}};
}

Json sentence_piece_json(const SentencePieces& pieces) {
  const auto replace = [](std::string_view from, std::string_view to) {
    return Json{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  Json normalizers = Json::array(), decoders = Json::array();
  if (pieces.add_space_prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpaceMark}});
  normalizers.push_back(replace(" ", kSpaceMark));
  decoders.push_back(replace(kSpaceMark, " "));
  decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (pieces.add_space_prefix) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return {{"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}}};
}

}  // namespace

TokenizerFamily read_tokenizer_family(const Json& root, const std::string& origin) {
  return FamilyReader(root, origin).read();
}

Json tokenizer_family_json(const Vocabulary& vocabulary) {
  if (vocabulary.pieces) return sentence_piece_json(*vocabulary.pieces);
  return {{"normalizer", vocabulary.compose ? Json{{"type", "NFC"}} : Json()},
          {"pre_tokenizer", word_split_json(vocabulary.split)},
          {"post_processor", byte_level(/*add_prefix_space=*/true, /*trim_offsets=*/false)},
          {"decoder", byte_level(/*add_prefix_space=*/true, /*trim_offsets=*/true)}};
}

}  // namespace crope::text
