#include "crope/formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "crope/base/error.h"
#include "crope/base/random.h"
#include "tests/temporary_folder.h"

namespace crope::formats {
namespace {

namespace fs = std::filesystem;

TensorSource source(const std::string& name, ElementType type, std::vector<std::int64_t> shape, std::string bytes) {
  return {name, type, std::move(shape), [bytes](const TensorSource::Sink& sink) {
            // In two pieces: sources may give their bytes as they come.
            const auto all = std::as_bytes(std::span(bytes.data(), bytes.size()));
            sink(all.first(all.size() / 2));
            sink(all.subspan(all.size() / 2));
          }};
}

std::string bytes_of(const StoredTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

// A file from its JSON header and its data.
std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string open_error(const fs::path& path, const std::string& contents) {
  write_file(path, contents);
  try {
    SafetensorsFile::open(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Safetensors, RoundTripOfEveryType) {
  const test::TemporaryFolder folder;
  const std::vector<ElementType> types = {ElementType::f64, ElementType::f32,    ElementType::f16, ElementType::bf16,
                                          ElementType::i64, ElementType::i32,    ElementType::i16, ElementType::i8,
                                          ElementType::u8,  ElementType::boolean};
  std::vector<TensorSource> sources;
  for (const ElementType type : types) {
    std::string bytes(6 * element_size(type), '\0');
    std::iota(bytes.begin(), bytes.end(), static_cast<char>(1));
    sources.push_back(source(std::string(element_name(type)), type, {2, 3}, bytes));
  }
  sources.push_back(source("empty", ElementType::f32, {0, 5}, ""));
  sources.push_back(source("scalar", ElementType::f32, {}, "abcd"));
  write_safetensors(folder / "x", sources, {{"note", "ü"}});

  const SafetensorsFile file = SafetensorsFile::open(folder / "x");
  EXPECT_EQ(file.tensors().size(), types.size() + 2);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"note", "ü"}}));
  for (const ElementType type : types) {
    const StoredTensor& tensor = file.at(element_name(type));
    EXPECT_EQ(tensor.type, type);
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(bytes_of(tensor).size(), 6 * element_size(type));
    EXPECT_EQ(bytes_of(tensor)[1], 2);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % element_size(type), 0u);
  }
  EXPECT_TRUE(file.at("empty").bytes.empty());
  EXPECT_EQ(bytes_of(file.at("scalar")), "abcd");
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_THROW(file.at("absent"), Error);
}

TEST(Safetensors, SameTensorsGiveTheSameFile) {
  const test::TemporaryFolder folder;
  const TensorSource a = source("a", ElementType::i8, {1}, "x"), b = source("b", ElementType::f32, {1}, "wxyz");
  write_safetensors(folder / "x", {a, b});
  write_safetensors(folder / "y", {b, a});
  EXPECT_EQ(read_file(folder / "x"), read_file(folder / "y"));
}

TEST(Safetensors, WriterRefusesAndLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "old");
  EXPECT_THROW(write_safetensors(folder / "x", {source("a", ElementType::f32, {2}, "abcd")}), Error);
  EXPECT_THROW(write_safetensors(folder / "x", {source("a", ElementType::f32, {-1}, "")}), Error);
  const TensorSource twice = source("a", ElementType::i8, {1}, "x");
  EXPECT_THROW(write_safetensors(folder / "x", {twice, twice}), Error);
  EXPECT_THROW(write_safetensors(folder / "x", {source("__metadata__", ElementType::i8, {1}, "x")}), Error);
  EXPECT_EQ(read_file(folder / "x"), "old");
}

TEST(Safetensors, EveryTruncationIsAClearError) {
  const test::TemporaryFolder folder;
  write_safetensors(folder / "whole",
                    {source("a", ElementType::f32, {3}, "abcdefghijkl"), source("b", ElementType::i16, {2}, "wxyz")});
  const std::string whole = read_file(folder / "whole");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(open_error(folder / "cut", whole.substr(0, length)), "") << "cut to " << length << " bytes";
  }
}

// Any byte may be anything: either it still reads, or it is an Error.
TEST(Safetensors, RandomDamageNeverCrashes) {
  const test::TemporaryFolder folder;
  write_safetensors(folder / "whole", {source("a", ElementType::f32, {3}, "abcdefghijkl")});
  const std::string whole = read_file(folder / "whole");
  RandomStream random(1, "damage");
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (std::uint64_t i = 0; i <= random.below(3); ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    open_error(folder / "damaged", damaged);
  }
}

TEST(Safetensors, HostileHeadersAreNamed) {
  const test::TemporaryFolder folder;
  struct Case {
    const char* header;
    const char* data;
    const char* message;
  };
  const Case cases[] = {
      {"[]", "", "does not start with '{'"},
      {R"({"a":1})", "", "tensor 'a': expected an object"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "abcd", "not valid JSON"},
      {R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "abcd", "dtype \"F33\" is not supported"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", "abcd", "shape should be an array"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd", "whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "abcd", "whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", "abcd", "whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", "abcd", "more than 2^63 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd", "need 8 bytes, data_offsets give 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "abcd", "outside the file"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "abcd", "outside the file"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "abcd", "should have 2 numbers"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", "abcd", "unknown field 'x'"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "abcdefgh", "gap"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcdefgh", "4 bytes after the last tensor"},
      {R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[3],"data_offsets":[2,5]}})",
       "abcde", "overlap"},
      {R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
       "a", "'a' appears twice"},
      {R"({"__metadata__":{"x":1}})", "", "should be a string"},
      {R"({"__metadata__":[]})", "", "should be an object"},
  };
  for (const Case& each : cases) {
    const std::string message = open_error(folder / "x", file_of(each.header, each.data));
    EXPECT_NE(message.find(each.message), std::string::npos) << each.header << "\n" << message;
    EXPECT_NE(message.find((folder / "x").string()), std::string::npos);
  }
  EXPECT_NE(open_error(folder / "x", std::string(8, '\xff') + "{}").find("at most 100000000"), std::string::npos);
  EXPECT_NE(open_error(folder / "x", "PK\x03\x04 not ours at all").find("not a safetensors file"), std::string::npos);
}

TEST(Safetensors, EmptyTensorsMayShareAPlace) {
  const test::TemporaryFolder folder;
  const std::string header =
      R"({"b":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}})";
  EXPECT_EQ(open_error(folder / "x", file_of(header, "ab")), "");
}

}  // namespace
}  // namespace crope::formats
