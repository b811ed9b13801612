#include "crope/formats/jsonl.h"

#include <arrow/result.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "crope/base/error.h"
#include "crope/base/random.h"

namespace crope::formats {
namespace {

namespace fs = std::filesystem;

class JsonlTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("jsonl_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path put(const std::string& name, const std::string& bytes) {
    fs::remove(folder_ / name);  // a new file is not flushed to disk when it is closed, an overwritten one may be
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  fs::path folder_;
};

std::string compress(const std::string& text, arrow::Compression::type type) {
  const auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  std::string out(static_cast<std::size_t>(codec->MaxCompressedLen(static_cast<std::int64_t>(text.size()),
                                                                   reinterpret_cast<const std::uint8_t*>(text.data()))),
                  '\0');
  const auto size =
      codec->Compress(static_cast<std::int64_t>(text.size()), reinterpret_cast<const std::uint8_t*>(text.data()),
                      static_cast<std::int64_t>(out.size()), reinterpret_cast<std::uint8_t*>(out.data()));
  out.resize(static_cast<std::size_t>(size.ValueOrDie()));
  return out;
}

std::vector<std::string> lines_of(const fs::path& path, std::size_t longest = kLongestLine) {
  LineReader reader(InputStream::open(path), longest);
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.emplace_back(*line);
  return lines;
}

// "+text", "null", or the problem without the folder.
std::vector<std::string> rows_of(const fs::path& path) {
  JsonlReader reader(InputStream::open(path), "text");
  std::vector<std::string> rows;
  while (const auto row = reader.next()) {
    switch (row->kind) {
      case JsonlRow::Kind::text:
        rows.push_back("+" + std::string(row->text));
        break;
      case JsonlRow::Kind::null:
        rows.push_back("null");
        break;
      case JsonlRow::Kind::bad:
        rows.push_back(row->problem.substr(path.parent_path().string().size() + 1));
        break;
    }
  }
  return rows;
}

using Lines = std::vector<std::string>;

TEST_F(JsonlTest, SplitsLines) {
  EXPECT_EQ(lines_of(put("a", "")), Lines{});
  EXPECT_EQ(lines_of(put("a", "\n")), Lines{""});
  EXPECT_EQ(lines_of(put("a", "one\n\ntwo\r\nthree")), (Lines{"one", "", "two", "three"}));
  EXPECT_EQ(lines_of(put("a", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n")), (Lines{"one", "\xEF\xBB\xBFtwo"}));
}

TEST_F(JsonlTest, LinesMayBeLongerThanTheBufferButNotThanTheLimit) {
  const std::string longer(1'000'000, 'x');
  const fs::path path = put("a", "short\n" + longer + "\nend");
  EXPECT_EQ(lines_of(path), (Lines{"short", longer, "end"}));
  try {
    lines_of(path, 500'000);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("a:2: a line of more than 500000 bytes"), std::string::npos) << e.what();
  }
}

TEST_F(JsonlTest, SaysWhatIsWrongWithARow) {
  const fs::path path = put("rows.jsonl",
                            "{\"text\": \"a \\u00e9\\n\\ud83d\\ude00\", \"n\": [1, {\"text\": \"inner\"}]}\n"
                            "\n"
                            "{\"text\": null}\n"
                            "{\"title\": \"x\"}\n"
                            "{\"text\": 3}\n"
                            "[1]\n"
                            "{\"text\": \"cut\n"
                            "{\"text\": \"\xFF\"}\n"
                            "{\"text\": \"one\"} {\"text\": \"two\"}\n"
                            "{\"text\": \"last\"}");
  const Lines rows = rows_of(path);
  ASSERT_EQ(rows.size(), 9u);
  EXPECT_EQ(rows[0], "+a \u00e9\n\U0001F600");
  EXPECT_EQ(rows[1], "null");
  EXPECT_EQ(rows[2], "rows.jsonl:4: there is no field 'text'; there are: title");
  EXPECT_EQ(rows[3], "rows.jsonl:5: the field 'text' is not a string");
  EXPECT_EQ(rows[4], "rows.jsonl:6: expected a JSON object");
  EXPECT_TRUE(rows[5].starts_with("rows.jsonl:7: not valid JSON")) << rows[5];
  EXPECT_TRUE(rows[6].starts_with("rows.jsonl:8: not valid JSON")) << rows[6];
  EXPECT_TRUE(rows[7].starts_with("rows.jsonl:9: not valid JSON")) << rows[7];
  EXPECT_EQ(rows[8], "+last");
}

TEST_F(JsonlTest, DeepNestingIsABadRow) {
  const Lines rows = rows_of(put("deep.jsonl", "{\"text\": " + std::string(100'000, '[') + "\n"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NE(rows[0].find("not valid JSON"), std::string::npos);
}

class CompressedTest : public JsonlTest, public testing::WithParamInterface<arrow::Compression::type> {
 protected:
  std::string name() const { return GetParam() == arrow::Compression::GZIP ? "a.jsonl.gz" : "a.jsonl.zst"; }
};

TEST_P(CompressedTest, ReadsSeveralMembersAsOneFile) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "{\"text\": \"line " + std::to_string(i * 7919) + "\"}\n";
  const Lines plain = lines_of(put("plain", text));
  const std::size_t middle = text.size() / 3;
  EXPECT_EQ(lines_of(put(name(), compress(text, GetParam()))), plain);
  EXPECT_EQ(
      lines_of(put(name(), compress(text.substr(0, middle), GetParam()) + compress(text.substr(middle), GetParam()))),
      plain);
}

TEST_P(CompressedTest, EveryTruncationIsAnError) {
  const std::string bytes =
      compress("{\"text\": \"some text, some more text\"}\n{\"text\": \"and the end\"}\n", GetParam());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const fs::path path = put(name(), bytes.substr(0, size));
    EXPECT_THROW(lines_of(path), Error) << size;
  }
  const fs::path trailing = put(name(), bytes + "rubbish");
  EXPECT_THROW(lines_of(trailing), Error);
}

TEST_P(CompressedTest, RandomDamageIsAnErrorOrReadable) {
  const std::string good =
      compress("{\"text\": \"some text, some more text\"}\n{\"text\": \"and the end\"}\n", GetParam());
  RandomStream random(2, "damage");
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    bytes[random.below(bytes.size())] = static_cast<char>(random.bits());
    const fs::path path = put(name(), bytes);
    try {
      rows_of(path);
    } catch (const Error&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, CompressedTest, testing::Values(arrow::Compression::GZIP, arrow::Compression::ZSTD));

TEST_F(JsonlTest, MissingFilesAndFoldersAreErrors) {
  EXPECT_THROW(InputStream::open(folder_ / "absent"), Error);
  EXPECT_THROW(InputStream::open(folder_), Error);
}

TEST_F(JsonlTest, ALineOfFortyThousandKeysIsReadAndNotListed) {
  std::string line = "{\"k\":0";
  for (int i = 0; i < 40'000; ++i) line += ",\"k" + std::to_string(i) + "\":0";
  const fs::path path = put("hostile.jsonl", line + "}\n" + line + ",\"text\":\"here\"}\n");
  JsonlReader reader(InputStream::open(path), "text");
  const auto without = reader.next();
  ASSERT_TRUE(without);
  EXPECT_EQ(without->kind, JsonlRow::Kind::bad);
  EXPECT_LT(without->problem.size(), 1000u);
  const auto with = reader.next();
  ASSERT_TRUE(with);
  EXPECT_EQ(with->text, "here");
}

TEST_F(JsonlTest, OfManyFieldsSomeAreListed) {
  std::string line = "{\"k\":0";
  for (int i = 0; i < 100; ++i) line += ",\"k" + std::to_string(i) + "\":0";
  JsonlReader reader(InputStream::open(put("many.jsonl", line + "}")), "text");
  const std::string problem = reader.next()->problem;
  EXPECT_NE(problem.find("there are: k, k0, k1"), std::string::npos) << problem;
  EXPECT_TRUE(problem.ends_with(", ...")) << problem;
}

}  // namespace
}  // namespace crope::formats
