#include "crope/data/prepare.h"

#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <map>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/random.h"
#include "crope/data/inspect.h"
#include "crope/text/tokenizer.h"
#include "crope/text/tokenizer_json.h"
#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

namespace fs = std::filesystem;

// The 256 bytes, "th", "the" and <|endoftext|>.
text::Vocabulary small_vocabulary() {
  text::Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"th", "the", std::string(text::kEndOfText)});
  vocabulary.merges = {{'t', 'h', 256}, {256, 'e', 257}};
  vocabulary.special_tokens = {{std::string(text::kEndOfText), 258}};
  return vocabulary;
}

class PrepareTest : public ScratchFolder {
 protected:
  void SetUp() override {
    ScratchFolder::SetUp();
    fs::create_directories(folder_ / "tokenizer");
    text::write_tokenizer_files(folder_ / "tokenizer", small_vocabulary());
  }

  PrepareOptions options(std::vector<std::string> sources, const std::string& out) const {
    return {.sources = std::move(sources),
            .source = {},
            .tokenizer = folder_ / "tokenizer",
            .out = folder_ / out,
            .val_fraction = 0.2};
  }

  // Names and contents of the shards in a folder.
  std::map<std::string, std::string> shards(const std::string& out) const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::directory_iterator(folder_ / out)) {
      if (entry.path().extension() == ".bin") contents[entry.path().filename().string()] = read_file(entry.path());
    }
    return contents;
  }

  std::vector<std::int32_t> tokens(const std::vector<fs::path>& paths) const {
    std::vector<std::int32_t> all;
    for (const fs::path& path : paths) {
      const auto shard = formats::TokenShard::open(path);
      std::vector<std::int32_t> part(shard.size());
      shard.read(0, part);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  // Nothing but what tests put there: no temporary folder.
  bool is_tidy() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(".")) return false;
    }
    return true;
  }

  Log log_{nullptr};
};

// Documents of very different lengths.
std::vector<std::string> make_documents(std::size_t count) {
  RandomStream random(5, "documents");
  std::vector<std::string> documents(count);
  for (std::string& document : documents) {
    const std::uint64_t words = random.below(20) == 0 ? 20'000 : 1 + random.below(200);
    for (std::uint64_t i = 0; i < words; ++i)
      document += random.below(3) == 0 ? " the" : " b\u00e9" + std::to_string(random.below(1000));
  }
  return documents;
}

std::string to_jsonl(const std::vector<std::string>& documents) {
  std::string lines;
  for (const std::string& document : documents) lines += Json{{"text", document}}.dump() + "\n";
  return lines;
}

TEST_F(PrepareTest, ASourceMayBeNamedInSeveralWays) {
  const std::string source = put("a.jsonl", to_jsonl(make_documents(20)));
  prepare(options({source}, "out"), log_);
  const std::string other = (folder_ / "tokenizer" / ".." / "a.jsonl").string();
  EXPECT_TRUE(prepare(options({other}, "out"), log_).was_there);
  EXPECT_TRUE(prepare(options({fs::relative(source).string()}, "out"), log_).was_there);
}

// A text without document borders has no documents to hold out, so its end is held out. Short and longer than a piece.
TEST_F(PrepareTest, TheEndOfASingleTextIsHeldOut) {
  const text::Tokenizer tokenizer{small_vocabulary()};
  for (const std::size_t words : {100, 400'000}) {
    std::string text;
    for (std::size_t i = 0; i < words; ++i) text += i % 3 == 0 ? "the " : "bee ";
    const std::string name = std::to_string(words);
    const PrepareResult result = prepare(options({put(name + ".txt", text)}, name), log_);
    EXPECT_EQ(result.info.train.documents, 1u);
    EXPECT_EQ(result.info.val.documents, 1u);
    EXPECT_EQ(result.info.train.bytes + result.info.val.bytes, text.size());
    EXPECT_NEAR(static_cast<double>(result.info.val.bytes), 0.2 * static_cast<double>(text.size()), 8);
    const DataDir dir = open_data_dir(folder_ / name);
    std::vector<std::int32_t> train = {258}, val = {258};
    tokenizer.encode_append(text.substr(0, result.info.train.bytes), train);
    tokenizer.encode_append(text.substr(result.info.train.bytes), val);
    EXPECT_EQ(tokens(dir.train), train);
    EXPECT_EQ(tokens(dir.val), val);
  }
}

// Where there are documents, or nothing is to be held out, a text is not cut.
TEST_F(PrepareTest, OnlyATextWithoutBordersIsCut) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the bee sees the sea\n<|endoftext|>\n" + std::to_string(i) + " ";
  const PrepareResult parted = prepare(options({put("parted.txt", text)}, "parted"), log_);
  EXPECT_EQ(parted.info.train.documents + parted.info.val.documents, 201u);
  const std::string whole = "the bee sees the sea and the sea sees the bee and the bee is glad";
  PrepareOptions nothing = options({put("whole.txt", whole)}, "whole");
  nothing.val_fraction = 0;
  EXPECT_EQ(prepare(nothing, log_).info.val.documents, 0u);
  const PrepareResult two = prepare(options({put("one.txt", whole), put("two.txt", whole)}, "two"), log_);
  EXPECT_EQ(two.info.train.documents + two.info.val.documents, 2u);
}

TEST_F(PrepareTest, AnotherTokenMayStartEachDocument) {
  text::Vocabulary vocabulary = small_vocabulary();
  vocabulary.special_tokens.front().content =
      vocabulary.tokens[static_cast<std::size_t>(vocabulary.special_tokens.front().id)] = "<s>";
  std::filesystem::create_directories(folder_ / "llama");
  text::write_tokenizer_files(folder_ / "llama", vocabulary);
  PrepareOptions llama = options({put("a.jsonl", to_jsonl(make_documents(20)))}, "out");
  llama.tokenizer = folder_ / "llama";
  try {
    prepare(llama, log_);
    ADD_FAILURE() << "there is no <|endoftext|>";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("no special token <|endoftext|>"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("such as '<s>'"), std::string::npos) << e.hint();
  }
  llama.begin_token = "<s>";
  const PrepareResult result = prepare(llama, log_);
  EXPECT_EQ(result.info.end_of_text, 258);
  EXPECT_EQ(tokens(open_data_dir(folder_ / "out").train).front(), 258);
  EXPECT_TRUE(prepare(llama, log_).was_there);
}

TEST_F(PrepareTest, EachDocumentIsEndOfTextAndItsTokens) {
  const std::vector<std::string> documents = make_documents(300);
  const PrepareResult result = prepare(options({put("a.jsonl", to_jsonl(documents))}, "out"), log_);
  const text::Tokenizer tokenizer{small_vocabulary()};
  std::vector<std::int32_t> train, val;
  std::uint64_t train_documents = 0;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const bool is_validation = i > 0 && goes_to_validation(documents[i], 0.2);
    std::vector<std::int32_t>& ids = is_validation ? val : train;
    train_documents += is_validation ? 0 : 1;
    ids.push_back(258);
    tokenizer.encode_append(documents[i], ids);
  }
  const DataDir dir = open_data_dir(folder_ / "out");
  EXPECT_EQ(tokens(dir.train), train);
  EXPECT_EQ(tokens(dir.val), val);
  EXPECT_NEAR(static_cast<double>(train_documents), 240, 35);  // five standard deviations
  EXPECT_EQ(result.info.train.documents, train_documents);
  EXPECT_EQ(result.info.val.documents, 300 - train_documents);
  EXPECT_EQ(result.info.train.tokens, train.size());
  EXPECT_EQ(dir.info->tokenizer_fingerprint, tokenizer.fingerprint());
  EXPECT_EQ(text::Tokenizer::load(folder_ / "out").fingerprint(), tokenizer.fingerprint());
  EXPECT_TRUE(is_tidy());

  const InspectOptions inspected{.end_of_text = 258, .vocab_size = 259};
  EXPECT_EQ(inspect(dir, inspected, log_).train.documents(), train_documents);
  EXPECT_EQ(sample_documents(dir.train, 258, 5, 16).size(), 5u);
}

TEST_F(PrepareTest, TheNumberOfThreadsDoesNotMatter) {
  const std::string source = put("a.jsonl", to_jsonl(make_documents(2000)));
  PrepareOptions one = options({source}, "one"), four = options({source}, "four");
  one.threads = 1;
  four.threads = 4;
  one.shard_tokens = four.shard_tokens = 70'000;
  prepare(one, log_);
  prepare(four, log_);
  EXPECT_GT(shards("one").size(), 10u);
  EXPECT_TRUE(shards("one") == shards("four"));
  EXPECT_EQ(read_file(folder_ / "one/dataset.json"), read_file(folder_ / "four/dataset.json"));
  for (const auto& [name, bytes] : shards("one")) EXPECT_LE(bytes.size(), 1024u + 2 * 70'000u);
}

TEST_F(PrepareTest, ADocumentOfManyPiecesIsEncodedAsOne) {
  std::string text;
  while (text.size() < 3 * kPieceBytes) text += "then they met the other\n\n 3 people, who 'd left.\n";
  PrepareOptions options = this->options({put("a.txt", text)}, "out");
  options.val_fraction = 0;
  prepare(options, log_);
  std::vector<std::int32_t> expected = {258};
  text::Tokenizer(small_vocabulary()).encode_append(text, expected);
  EXPECT_TRUE(tokens(open_data_dir(folder_ / "out").train) == expected);
}

TEST_F(PrepareTest, ParquetOfAnyKindGivesTheShardsOfJsonLines) {
  const std::vector<std::string> documents = make_documents(200);
  prepare(options({put("a.jsonl", to_jsonl(documents))}, "jsonl"), log_);
  for (const auto compression :
       {arrow::Compression::ZSTD, arrow::Compression::SNAPPY, arrow::Compression::UNCOMPRESSED}) {
    arrow::StringBuilder builder;
    for (const std::string& document : documents) {
      ASSERT_TRUE(builder.Append(document).ok());
      if (document.size() % 3 != 0) continue;
      ASSERT_TRUE(builder.AppendNull().ok());
    }
    const auto array = builder.Finish().ValueOrDie();
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("body", arrow::utf8())}), {array});
    const std::string path = (folder_ / "a.parquet").string();
    const auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
    const auto properties = parquet::WriterProperties::Builder().compression(compression)->build();
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 37, properties).ok());
    ASSERT_TRUE(file->Close().ok());

    PrepareOptions from_parquet = options({path}, "parquet");
    from_parquet.source.text_field = "body";
    const PrepareResult result = prepare(from_parquet, log_);
    EXPECT_EQ(result.counts.nulls, static_cast<std::uint64_t>(array->null_count()));
    EXPECT_GT(result.counts.nulls, 0u);
    EXPECT_TRUE(shards("parquet") == shards("jsonl"));
    fs::remove_all(folder_ / "parquet");
  }
}

TEST_F(PrepareTest, AFinishedPreparationIsRecognisedAndNothingIsOverwritten) {
  const std::string source = put("a.jsonl", to_jsonl(make_documents(20)));
  const PrepareOptions first = options({source}, "out");
  EXPECT_FALSE(prepare(first, log_).was_there);
  const auto before = shards("out");
  EXPECT_TRUE(prepare(first, log_).was_there);

  PrepareOptions other = first;
  other.val_fraction = 0.5;
  EXPECT_THROW(prepare(other, log_), Error);
  put("a.jsonl", to_jsonl(make_documents(21)));
  EXPECT_THROW(prepare(first, log_), Error);
  EXPECT_TRUE(shards("out") == before);

  put("full/file", "x");
  EXPECT_THROW(prepare(options({source}, "full"), log_), Error);
  EXPECT_THROW(prepare(options({source}, "a.jsonl"), log_), Error);
  fs::create_directory(folder_ / "empty");
  EXPECT_FALSE(prepare(options({source}, "empty"), log_).was_there);
  EXPECT_TRUE(is_tidy());
}

TEST_F(PrepareTest, AFailureLeavesNothingAndLeftoversAreRemoved) {
  const std::string source = put("a.jsonl", to_jsonl(make_documents(20)) + "rubbish\n");
  put(".out.abc123/train_000000.bin", "what a killed process left");
  EXPECT_THROW(prepare(options({source}, "out"), log_), Error);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  EXPECT_TRUE(is_tidy());
  PrepareOptions skipping = options({source}, "out");
  skipping.source.skip_bad_rows = true;
  EXPECT_EQ(prepare(skipping, log_).counts.bad_rows, 1u);
}

TEST_F(PrepareTest, EmptyCorporaAndBadOptionsAreErrors) {
  EXPECT_THROW(prepare(options({put("a.txt", "")}, "out"), log_), Error);
  EXPECT_THROW(prepare(options({put("b.jsonl", "{\"text\": null}\n{\"text\": \"\"}\n")}, "out"), log_), Error);
  PrepareOptions bad = options({put("c.txt", "text")}, "out");
  bad.val_fraction = 1;
  EXPECT_THROW(prepare(bad, log_), UsageError);
  bad.val_fraction = 0.5;
  bad.shard_tokens = 0;
  EXPECT_THROW(prepare(bad, log_), UsageError);
  EXPECT_TRUE(is_tidy());
}

TEST_F(PrepareTest, ADamagedDirectoryIsNoticed) {
  PrepareOptions options = this->options({put("a.jsonl", to_jsonl(make_documents(50)))}, "out");
  options.shard_tokens = 5000;
  prepare(options, log_);
  const InspectOptions inspected{.end_of_text = 258, .vocab_size = 259};
  const std::string good = read_file(folder_ / "out/train_000001.bin");

  std::string bad = good;
  bad[1024 + 101] = '\x7F';  // the high byte of token 50
  put("out/train_000001.bin", bad);
  EXPECT_THROW(inspect(open_data_dir(folder_ / "out"), inspected, log_), Error);
  put("out/train_000001.bin", good);
  inspect(open_data_dir(folder_ / "out"), inspected, log_);
  fs::remove(folder_ / "out/train_000001.bin");
  EXPECT_THROW(open_data_dir(folder_ / "out"), Error);
}

TEST_F(PrepareTest, ShardsOfOthersAreUsedAsTheyAre) {
  fs::create_directory(folder_ / "edu");
  for (const char* name :
       {"edu_fineweb_val_000000.bin", "edu_fineweb_train_000002.bin", "edu_fineweb_train_000001.bin"}) {
    formats::TokenShardWriter writer(folder_ / "edu" / name, formats::TokenWidth::u16);
    writer.append(std::vector<std::int32_t>{50256, 1, 2});
    writer.commit();
  }
  put("edu/notes.txt", "x");
  const DataDir dir = open_data_dir(folder_ / "edu");
  EXPECT_EQ(dir.train, (std::vector<fs::path>{folder_ / "edu/edu_fineweb_train_000001.bin",
                                              folder_ / "edu/edu_fineweb_train_000002.bin"}));
  EXPECT_EQ(dir.val.size(), 1u);
  EXPECT_FALSE(dir.info);
  EXPECT_EQ(inspect(dir, {.end_of_text = 50256, .vocab_size = {}}, log_).train.documents(), 2u);
  EXPECT_THROW(open_data_dir(folder_), Error);
  EXPECT_THROW(open_data_dir(folder_ / "absent"), Error);
}

TEST_F(PrepareTest, DatasetJsonIsChecked) {
  prepare(options({put("a.jsonl", to_jsonl(make_documents(20)))}, "out"), log_);
  const Json good = read_json(folder_ / "out/dataset.json");
  for (const auto& [key, ignored] : good.items()) {
    Json bad = good;
    bad.erase(key);
    EXPECT_THROW(dataset_info_from_json(bad, "x"), Error) << key;
    bad = good;
    bad[key] = Json::array();
    if (key == "preparation") continue;  // says anything
    EXPECT_THROW(dataset_info_from_json(bad, "x"), Error) << key;
  }
}

}  // namespace
}  // namespace crope::data
