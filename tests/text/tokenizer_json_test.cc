#include "crope/text/tokenizer_json.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

TEST(TokenizerJson, ReadsWhatItWrote) {
  const test::TemporaryFolder folder;
  Vocabulary vocabulary = small_vocabulary();
  vocabulary.special_tokens.push_back({"<|ändé|> x", static_cast<std::int32_t>(vocabulary.tokens.size())});
  vocabulary.tokens.emplace_back("<|ändé|> x");
  write_tokenizer_files(folder.path(), vocabulary);
  EXPECT_EQ(read_tokenizer_json(folder.path()).fingerprint(), vocabulary.fingerprint());
  EXPECT_EQ(read_tokenizer_json(folder / "tokenizer.json").fingerprint(), vocabulary.fingerprint());
  const Json config = read_json(folder / "tokenizer_config.json");
  EXPECT_EQ(config["eos_token"], "<|endoftext|>");
  EXPECT_EQ(config["add_bos_token"], false);
}

TEST(TokenizerJson, TakesMergesAsPairsAndFieldsLeftOut) {
  const test::TemporaryFolder folder;
  write_tokenizer_files(folder.path(), small_vocabulary());
  Json json = read_json(folder / "tokenizer.json");
  for (Json& merge : json["model"]["merges"]) {
    const std::string text = merge;
    merge = {text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)};
  }
  for (const char* field : {"dropout", "fuse_unk", "byte_fallback", "ignore_merges", "end_of_word_suffix"}) {
    json["model"].erase(field);
  }
  for (const char* field : {"post_processor", "normalizer", "truncation", "padding"}) json.erase(field);
  write_json(folder / "tokenizer.json", json);
  EXPECT_EQ(read_tokenizer_json(folder.path()).fingerprint(), small_vocabulary().fingerprint());
}

TEST(TokenizerJson, RefusesOtherFamiliesNamingTheField) {
  const test::TemporaryFolder folder;
  write_tokenizer_files(folder.path(), small_vocabulary());
  const Json original = read_json(folder / "tokenizer.json");
  const auto expect_refusal = [&](const std::string& words, const std::function<void(Json&)>& change) {
    Json json = original;
    change(json);
    write_json(folder / "other.json", json);
    try {
      read_tokenizer_json(folder / "other.json");
      ADD_FAILURE() << "passed: " << words;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  };
  expect_refusal("model: expected an object, found nothing", [](Json& j) { j.erase("model"); });
  expect_refusal("model.type: expected \"BPE\", found \"Unigram\"", [](Json& j) { j["model"]["type"] = "Unigram"; });
  expect_refusal("model.type: expected \"BPE\", found \"WordPiece\"",
                 [](Json& j) { j["model"]["type"] = "WordPiece"; });
  expect_refusal("model.dropout", [](Json& j) { j["model"]["dropout"] = 0.1; });
  expect_refusal("model.byte_fallback", [](Json& j) { j["model"]["byte_fallback"] = 1; });
  expect_refusal("normalizer: expected Replace of spaces", [](Json& j) {
    j["model"]["byte_fallback"] = true;
    j["pre_tokenizer"] = nullptr;
  });
  expect_refusal("model.ignore_merges", [](Json& j) { j["model"]["ignore_merges"] = 1; });
  expect_refusal("model.end_of_word_suffix", [](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; });
  expect_refusal("model.continuing_subword_prefix", [](Json& j) { j["model"]["continuing_subword_prefix"] = "##"; });
  expect_refusal("model.vocab", [](Json& j) { j["model"].erase("vocab"); });
  expect_refusal("model.merges", [](Json& j) { j["model"].erase("merges"); });
  expect_refusal("model.merges[0]", [](Json& j) { j["model"]["merges"][0] = 7; });
  expect_refusal("merge 0 is 'x'", [](Json& j) { j["model"]["merges"][0] = "x"; });
  expect_refusal("needs the token", [](Json& j) { j["model"]["merges"].push_back("x y"); });
  expect_refusal("normalizer", [](Json& j) { j["normalizer"] = {{"type", "NFKC"}}; });
  expect_refusal("pre_tokenizer: expected ByteLevel at the end, found nothing",
                 [](Json& j) { j["pre_tokenizer"] = nullptr; });
  expect_refusal("pre_tokenizer: expected ByteLevel at the end",
                 [](Json& j) { j["pre_tokenizer"]["type"] = "Metaspace"; });
  expect_refusal("pre_tokenizer.add_prefix_space", [](Json& j) { j["pre_tokenizer"]["add_prefix_space"] = true; });
  expect_refusal("pre_tokenizer: expected ByteLevel, Digits and ByteLevel, or Split",
                 [](Json& j) { j["pre_tokenizer"]["use_regex"] = false; });
  expect_refusal("pre_tokenizer.pattern: expected the pattern of Llama 3 or Qwen 2", [](Json& j) {
    const Json cut = {{"type", "Split"}, {"pattern", {{"Regex", "x+"}}}, {"behavior", "Isolated"}, {"invert", false}};
    const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    j["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", Json::array({cut, bytes})}};
  });
  expect_refusal("decoder: expected ByteLevel", [](Json& j) { j["decoder"]["type"] = "WordPiece"; });
  expect_refusal("added_tokens: expected an array, found 3", [](Json& j) { j["added_tokens"] = 3; });
  expect_refusal("added_tokens[0]: expected an object, found 3", [](Json& j) { j["added_tokens"][0] = 3; });
  expect_refusal("added_tokens[0].lstrip", [](Json& j) { j["added_tokens"][0]["lstrip"] = true; });
  expect_refusal("added_tokens[0].id", [](Json& j) { j["added_tokens"][0]["id"] = -1; });
  expect_refusal("added_tokens[0].content", [](Json& j) { j["added_tokens"][0].erase("content"); });
  expect_refusal("in model.vocab and", [](Json& j) { j["added_tokens"][0]["id"] = 5; });
  expect_refusal("two tokens have the id", [](Json& j) { j["model"]["vocab"]["a"] = 3; });
  expect_refusal("ids must run", [](Json& j) { j["model"]["vocab"]["a"] = 4000000000; });
  expect_refusal("no whole number", [](Json& j) { j["model"]["vocab"]["a"] = "3"; });
  expect_refusal("no token for the byte", [](Json& j) {
    const Json id = j["model"]["vocab"]["~"];
    j["model"]["vocab"].erase("~");
    j["model"]["vocab"]["zzz"] = id;
  });
  expect_refusal("expected an object", [](Json& j) { j = Json::array(); });
}

TEST(TokenizerJson, EveryFamilyReadsWhatItWrote) {
  const test::TemporaryFolder folder;
  std::set<std::string> fingerprints;
  for (const WordSplit split : {WordSplit::gpt2, WordSplit::smollm, WordSplit::llama3, WordSplit::qwen2}) {
    for (const bool flag : {false, true}) {
      Vocabulary vocabulary = small_vocabulary();
      vocabulary.split = split;
      vocabulary.whole_words_first = vocabulary.compose = flag;
      write_tokenizer_files(folder.path(), vocabulary);
      const Vocabulary back = read_tokenizer_json(folder.path());
      EXPECT_EQ(back.split, split);
      EXPECT_EQ(back.whole_words_first, flag);
      EXPECT_EQ(back.compose, flag);
      EXPECT_EQ(back.fingerprint(), vocabulary.fingerprint());
      fingerprints.insert(back.fingerprint());
    }
  }
  EXPECT_EQ(fingerprints.size(), 8u);
}

TEST(TokenizerJson, RefusesAFileCutOffAnywhere) {
  const test::TemporaryFolder folder;
  write_tokenizer_files(folder.path(), small_vocabulary());
  const std::string whole = read_file(folder / "tokenizer.json");
  for (std::size_t size = 0; size + 2 < whole.size(); size += 97) {
    write_file(folder / "cut.json", whole.substr(0, size));
    EXPECT_THROW(read_tokenizer_json(folder / "cut.json"), Error) << size;
  }
}

TEST(TokenizerJson, SaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(read_tokenizer_json(folder.path()), Error);
  EXPECT_THROW(read_tokenizer_json(folder / "none.json"), Error);
}

}  // namespace
}  // namespace crope::text
