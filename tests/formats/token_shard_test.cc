#include "crope/formats/token_shard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include "crope/base/error.h"
#include "crope/base/random.h"

namespace crope::formats {
namespace {

namespace fs = std::filesystem;

class TokenShardTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("token_shard_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(TokenWidth width, const std::vector<std::int32_t>& tokens) {
    const fs::path path = folder_ / "shard.bin";
    TokenShardWriter writer(path, width);
    writer.append(tokens);
    writer.commit();
    return path;
  }

  fs::path put(const std::string& name, const std::string& bytes) {
    fs::remove(folder_ / name);  // a new file is not flushed to disk when it is closed, an overwritten one may be
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  fs::path folder_;
};

std::vector<std::int32_t> read_all(const TokenShard& shard) {
  std::vector<std::int32_t> tokens(shard.size());
  shard.read(0, tokens);
  return tokens;
}

std::string npy(const std::string& dictionary, const std::string& data) {
  const auto length = static_cast<std::uint16_t>(dictionary.size());
  std::string bytes = std::string("\x93NUMPY\x01", 7) + '\0';
  bytes.append(reinterpret_cast<const char*>(&length), 2);
  return bytes + dictionary + data;
}

TEST_F(TokenShardTest, GivesBackWhatWasWritten) {
  std::vector<std::int32_t> tokens(700'001);
  std::iota(tokens.begin(), tokens.end(), 0);
  EXPECT_EQ(read_all(TokenShard::open(write(TokenWidth::u32, tokens))), tokens);
  for (std::int32_t& token : tokens) token %= 65536;
  const TokenShard shard = TokenShard::open(write(TokenWidth::u16, tokens));
  EXPECT_EQ(read_all(shard), tokens);
  EXPECT_EQ(shard.width(), TokenWidth::u16);
  std::vector<std::int32_t> middle(3);
  shard.read(65535, middle);
  EXPECT_EQ(middle, (std::vector<std::int32_t>{65535, 0, 1}));
}

// Copying nothing to nowhere is undefined, and the sanitizers end the program there.
TEST_F(TokenShardTest, AShardWithoutTokensIsRead) {
  for (const TokenWidth width : {TokenWidth::u16, TokenWidth::u32}) {
    EXPECT_TRUE(read_all(TokenShard::open(write(width, {}))).empty());
  }
}

TEST_F(TokenShardTest, WritesTheHeaderOfLlmC) {
  const std::string bytes = read_file(write(TokenWidth::u16, {50256, 7}));
  ASSERT_EQ(bytes.size(), 1024u + 4u);
  std::int32_t header[256];
  std::memcpy(header, bytes.data(), 1024);
  EXPECT_EQ(header[0], 20240520);
  EXPECT_EQ(header[1], 1);
  EXPECT_EQ(header[2], 2);
  EXPECT_EQ(std::count(header + 3, header + 256, 0), 253);
  EXPECT_EQ(bytes.substr(1024), std::string("\x50\xc4\x07\x00", 4));
}

TEST_F(TokenShardTest, AnUnfinishedShardLeavesNothing) {
  {
    TokenShardWriter writer(folder_ / "shard.bin", TokenWidth::u16);
    writer.append(std::vector<std::int32_t>{1, 2, 3});
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(TokenShardTest, RefusesIdsThatDoNotFit) {
  TokenShardWriter narrow(folder_ / "shard.bin", TokenWidth::u16);
  EXPECT_THROW(narrow.append(std::vector<std::int32_t>{65536}), Error);
  EXPECT_THROW(narrow.append(std::vector<std::int32_t>{-1}), Error);
  EXPECT_EQ(token_width_for(65536), TokenWidth::u16);
  EXPECT_EQ(token_width_for(65537), TokenWidth::u32);
}

TEST_F(TokenShardTest, EveryTruncationIsAnError) {
  const std::string bytes = read_file(write(TokenWidth::u16, {1, 2, 3, 4, 5}));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const fs::path path = put("cut.bin", bytes.substr(0, size));
    EXPECT_THROW(TokenShard::open(path), Error) << size;
  }
  EXPECT_THROW(TokenShard::open(put("long.bin", bytes + "x")), Error);
}

TEST_F(TokenShardTest, EveryFieldOfTheHeaderIsChecked) {
  const std::string good = read_file(write(TokenWidth::u16, {1, 2, 3}));
  for (const auto& [field, value] : std::vector<std::pair<int, std::int32_t>>{
           {0, 20240522}, {0, 20240801}, {0, 0}, {1, 2}, {2, -1}, {2, 2}, {2, 4}, {2, 2147483647}}) {
    std::string bytes = good;
    std::memcpy(bytes.data() + 4 * field, &value, 4);
    EXPECT_THROW(TokenShard::open(put("bad.bin", bytes)), Error) << field << " = " << value;
  }
}

TEST_F(TokenShardTest, RefusesTokensOfNoVocabulary) {
  std::string bytes = read_file(write(TokenWidth::u32, {1, 2, 3}));
  bytes[1024 + 4 + 3] = '\x80';
  const TokenShard shard = TokenShard::open(put("high.bin", bytes));
  EXPECT_THROW(read_all(shard), Error);
}

TEST_F(TokenShardTest, ReadsNumpy) {
  const std::string dictionary = "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }\n";
  const std::string good = npy(dictionary, std::string("\x01\x00\x02\x00\x50\xc4", 6));
  EXPECT_EQ(read_all(TokenShard::open(put("a.npy", good))), (std::vector<std::int32_t>{1, 2, 50256}));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(TokenShard::open(put("cut.npy", good.substr(0, size))), Error) << size;
  }
  for (const char* bad :
       {"{'descr': '<i2', 'shape': (3,), }", "{'descr': '<u2', 'shape': (3, 1), }", "{'descr': '<u2', 'shape': (), }",
        "{'descr': '<u2'}", "{'shape': (3,), }", "{'descr': '<u2', 'shape': (-3,), }", "",
        "{'descr': '<u2', 'shape': ", "{'descr': '<u2', 'shape': (18446744073709551615,), }",
        "{'descr': '<u2', 'shape': (9223372036854775811,), }"}) {
    EXPECT_THROW(TokenShard::open(put("bad.npy", npy(bad, good.substr(good.size() - 6)))), Error) << bad;
  }
}

TEST_F(TokenShardTest, RandomDamageIsAnErrorOrReadable) {
  const std::string dictionary = "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }\n";
  const std::string numpy = npy(dictionary, std::string(6, '\1'));
  const std::string bin = read_file(write(TokenWidth::u32, {1, 2, 3}));
  RandomStream random(1, "damage");
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = round % 2 == 0 ? numpy : bin.substr(0, 1024 + 12);
    const std::size_t reach = round % 2 == 0 ? bytes.size() : 16;
    for (int i = 0; i < 2; ++i) bytes[random.below(reach)] = static_cast<char>(random.bits());
    const fs::path path = put(round % 2 == 0 ? "damaged.npy" : "damaged.bin", bytes);
    try {
      read_all(TokenShard::open(path));
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace crope::formats
