#include "crope/text/tokenizer_json.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json_fields.h"
#include "crope/text/byte_alphabet.h"
#include "crope/text/spelled_vocabulary.h"
#include "crope/text/tokenizer.h"

namespace crope::text {
namespace {

namespace fs = std::filesystem;

// The member of an object, or null when there is none.
const Json& member(const Json& object, const std::string& name) {
  static const Json null;
  const auto place = object.find(name);
  return place == object.end() ? null : *place;
}

[[noreturn]] void refuse(const std::string& origin, const std::string& field, const Json& value,
                         const std::string& expected) {
  throw Error(fmt::format("{}: {}: {}", origin, field, expected_found(expected, value.is_null() ? nullptr : &value)),
              "only byte-level BPE with GPT-2's pattern is supported");
}

// Fields that may be absent and otherwise must say what this family does.
void check_setting(const std::string& origin, const Json& object, const std::string& place, const std::string& name,
                   const std::vector<Json>& allowed) {
  const Json& value = member(object, name);
  if (value.is_null()) return;
  for (const Json& each : allowed) {
    if (value == each) return;
  }
  refuse(origin, place + "." + name, value, allowed.front().dump() + " or nothing");
}

void check_byte_level(const std::string& origin, const Json& root, const std::string& place, bool may_be_absent) {
  const Json& part = member(root, place);
  if (part.is_null() && may_be_absent) return;
  if (!part.is_object()) refuse(origin, place, part, "an object of type ByteLevel");
  if (member(part, "type") != "ByteLevel") refuse(origin, place + ".type", member(part, "type"), "\"ByteLevel\"");
}

void check_family(const std::string& origin, const Json& root) {
  const Json& model = member(root, "model");
  if (!model.is_object()) refuse(origin, "model", model, "an object");
  if (member(model, "type") != "BPE") refuse(origin, "model.type", member(model, "type"), "\"BPE\"");
  check_setting(origin, model, "model", "dropout", {0.0});
  check_setting(origin, model, "model", "continuing_subword_prefix", {""});
  check_setting(origin, model, "model", "end_of_word_suffix", {""});
  check_setting(origin, model, "model", "byte_fallback", {false});
  check_setting(origin, model, "model", "ignore_merges", {false});
  if (!member(root, "normalizer").is_null()) refuse(origin, "normalizer", member(root, "normalizer"), "null");
  check_byte_level(origin, root, "pre_tokenizer", /*may_be_absent=*/false);
  check_setting(origin, member(root, "pre_tokenizer"), "pre_tokenizer", "add_prefix_space", {false});
  check_setting(origin, member(root, "pre_tokenizer"), "pre_tokenizer", "use_regex", {true});
  check_byte_level(origin, root, "post_processor", /*may_be_absent=*/true);
  check_byte_level(origin, root, "decoder", /*may_be_absent=*/false);
}

std::vector<SpecialToken> read_added_tokens(const std::string& origin, const Json& list) {
  if (list.is_null()) return {};
  if (!list.is_array()) refuse(origin, "added_tokens", list, "an array");
  std::vector<SpecialToken> tokens;
  for (const Json& each : list) {
    const std::string place = fmt::format("added_tokens[{}]", tokens.size());
    if (!each.is_object()) refuse(origin, place, each, "an object");
    const Json& content = member(each, "content");
    const Json& id = member(each, "id");
    if (!content.is_string()) refuse(origin, place + ".content", content, "a text");
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > INT32_MAX) refuse(origin, place + ".id", id, "an id");
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) check_setting(origin, each, place, flag, {false});
    tokens.push_back({content.get<std::string>(), id.get<std::int32_t>()});
  }
  return tokens;
}

std::vector<std::pair<std::string, std::string>> read_merges(const std::string& origin, const Json& list) {
  if (!list.is_array()) refuse(origin, "model.merges", list, "an array");
  std::vector<std::pair<std::string, std::string>> merges;
  for (const Json& each : list) {
    if (each.is_string()) {
      merges.push_back(split_merge(each.get_ref<const std::string&>(), origin, merges.size()));
    } else if (each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string()) {
      merges.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
    } else {
      refuse(origin, fmt::format("model.merges[{}]", merges.size()), each, "\"a b\" or [\"a\", \"b\"]");
    }
  }
  return merges;
}

Json tokenizer_json(const Vocabulary& vocabulary) {
  Json added = Json::array();
  std::unordered_map<std::int32_t, const std::string*> special;
  for (const auto& [content, id] : vocabulary.special_tokens) {
    special[id] = &content;
    added.push_back({{"id", id},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  // push_back does not search for the key, and no two tokens are equal.
  Json::object_t tokens;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const auto place = special.find(static_cast<std::int32_t>(id));
    tokens.push_back({place == special.end() ? spell_bytes(vocabulary.tokens[id]) : *place->second, id});
  }
  Json merges = Json::array();
  for (const Merge& merge : vocabulary.merges) {
    merges.push_back(spell_bytes(vocabulary.tokens[merge.left]) + " " + spell_bytes(vocabulary.tokens[merge.right]));
  }
  const auto byte_level = [](bool add_prefix_space, bool trim_offsets) {
    return Json{{"type", "ByteLevel"},
                {"add_prefix_space", add_prefix_space},
                {"trim_offsets", trim_offsets},
                {"use_regex", true}};
  };
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level(/*add_prefix_space=*/false, /*trim_offsets=*/true)},
          {"post_processor", byte_level(/*add_prefix_space=*/true, /*trim_offsets=*/false)},
          {"decoder", byte_level(/*add_prefix_space=*/true, /*trim_offsets=*/true)},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", Json(std::move(tokens))},
            {"merges", std::move(merges)}}}};
}

Json tokenizer_config_json(const Vocabulary& vocabulary, const TokenizerFileOptions& options) {
  Json config = {{"tokenizer_class", "GPT2TokenizerFast"},
                 {"add_bos_token", false},
                 {"add_prefix_space", false},
                 {"clean_up_tokenization_spaces", false},
                 {"model_max_length", options.model_max_length}};
  for (const SpecialToken& special : vocabulary.special_tokens) {
    if (special.content != kEndOfText) continue;
    for (const char* role : {"bos_token", "eos_token", "unk_token"}) config[role] = kEndOfText;
  }
  return config;
}

}  // namespace

Vocabulary read_tokenizer_json(const fs::path& dir_or_file) {
  const fs::path file = fs::is_directory(dir_or_file) ? dir_or_file / kTokenizerFile : dir_or_file;
  if (!fs::exists(file)) {
    throw Error(fmt::format("{} does not exist", file.string()),
                "give a tokenizer.json or a folder that holds one; crope tokenizer import makes one of GPT-2's files");
  }
  SpelledVocabulary spelled{.origin = file.string(), .tokens = {}, .special_tokens = {}, .merges = {}};
  const Json root = parse_with_vocabulary(file, {"model", "vocab"}, spelled.tokens);
  check_family(spelled.origin, root);
  if (!member(root["model"], "vocab").is_object()) {
    refuse(spelled.origin, "model.vocab", member(root["model"], "vocab"), "an object of tokens and ids");
  }
  spelled.special_tokens = read_added_tokens(spelled.origin, member(root, "added_tokens"));
  spelled.merges = read_merges(spelled.origin, member(root["model"], "merges"));
  return unspell(spelled);
}

void write_tokenizer_files(const fs::path& dir, const Vocabulary& vocabulary, const TokenizerFileOptions& options) {
  write_json(dir / "tokenizer_config.json", tokenizer_config_json(vocabulary, options));
  write_json(dir / kTokenizerFile, tokenizer_json(vocabulary));
}

}  // namespace crope::text
