#include "crope/formats/gguf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "crope/base/random.h"
#include "crope/formats/gguf_writer.h"
#include "tests/temporary_folder.h"

namespace crope::formats {
namespace {

namespace fs = std::filesystem;

GgufTensorSource gguf_source(const std::string& name, GgmlType type, std::vector<std::int64_t> shape,
                             std::string bytes) {
  return {name, type, std::move(shape), [bytes](const GgufTensorSource::Sink& sink) {
            const auto all = std::as_bytes(std::span(bytes.data(), bytes.size()));
            sink(all.first(all.size() / 2));
            sink(all.subspan(all.size() / 2));
          }};
}

// One by one: as one braced list it takes the compiler minutes to find out what each of its elements is.
GgufMetadata every_type() {
  GgufMetadata metadata;
  metadata.emplace_back("u8", std::uint8_t{200});
  metadata.emplace_back("i8", std::int8_t{-100});
  metadata.emplace_back("u16", std::uint16_t{60000});
  metadata.emplace_back("i16", std::int16_t{-30000});
  metadata.emplace_back("u32", std::uint32_t{4000000000});
  metadata.emplace_back("i32", std::int32_t{-2000000000});
  metadata.emplace_back("f32", 1.5f);
  metadata.emplace_back("bool", true);
  metadata.emplace_back("string", std::string("gr\xC3\xBC\xC3\x9F"));
  metadata.emplace_back("u64", std::uint64_t{1} << 63);
  metadata.emplace_back("i64", -(std::int64_t{1} << 62));
  metadata.emplace_back("f64", 0.1);
  metadata.emplace_back("numbers", std::vector<std::int32_t>{1, -2, 3});
  metadata.emplace_back("flags", std::vector<bool>{true, false, true});
  metadata.emplace_back("words", std::vector<std::string>{"a", "", "bc"});
  metadata.emplace_back("nothing", std::vector<float>{});
  return metadata;
}

// Bytes of a GGUF file by hand.
class Bytes {
 public:
  template <typename T>
  Bytes& add(const T& value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Bytes& add_string(const std::string& value) {
    add<std::uint64_t>(value.size());
    text += value;
    return *this;
  }
  Bytes& add_tensor(const std::string& name, std::vector<std::int64_t> reversed, std::uint32_t type,
                    std::uint64_t offset) {
    add_string(name).add(static_cast<std::uint32_t>(reversed.size()));
    for (const std::int64_t extent : reversed) add(extent);
    return add(type).add(offset);
  }
  // Padding to 32 bytes, then `data` bytes.
  std::string with_data(std::size_t data) const {
    return text + std::string((32 - text.size() % 32) % 32 + data, '\0');
  }

  std::string text;
};

Bytes begin_gguf(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  Bytes bytes;
  bytes.text = "GGUF";
  return bytes.add(version).add(tensors).add(keys);
}

std::string gguf_error(const fs::path& path, const std::string& contents) {
  write_file(path, contents);
  try {
    GgufFile::open(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

void write_sample(const fs::path& path) {
  write_gguf(
      path, every_type(),
      {gguf_source("a", GgmlType::f32, {2, 3}, "abcdefghijklmnopqrstuvwx"),
       gguf_source("b", GgmlType::q8_0, {2, 32}, std::string(68, 'q')), gguf_source("c", GgmlType::bf16, {1}, "xy")});
}

TEST(Gguf, RoundTripOfEveryType) {
  const test::TemporaryFolder folder;
  write_sample(folder / "x");
  const GgufFile file = GgufFile::open(folder / "x");
  EXPECT_TRUE(file.metadata() == every_type());
  EXPECT_EQ(file.value<std::string>("string"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_THROW(file.value<std::uint32_t>("string"), Error);
  EXPECT_THROW(file.value<std::uint32_t>("absent"), Error);
  EXPECT_EQ(file.find_value("absent"), nullptr);
  EXPECT_EQ(file.integer("u8"), 200);
  EXPECT_EQ(file.integer("i64"), -(std::int64_t{1} << 62));
  EXPECT_THROW(file.integer("u64"), Error) << "2^63 does not fit";
  EXPECT_THROW(file.integer("f32"), Error);
  EXPECT_THROW(file.integer("bool"), Error);
  EXPECT_THROW(file.integer("absent"), Error);
  EXPECT_EQ(file.find_integer("absent"), std::nullopt);
  EXPECT_EQ(file.number("f64"), 0.1);
  EXPECT_EQ(file.number("i8"), -100);
  EXPECT_THROW(file.number("string"), Error);
  EXPECT_EQ(file.find_number("absent"), std::nullopt);
  ASSERT_EQ(file.tensors().size(), 3u);
  const GgufTensor& a = file.at("a");
  EXPECT_EQ(a.type, GgmlType::f32);
  EXPECT_EQ(a.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(a.bytes.data(), "abcdefghijklmnopqrstuvwx", a.bytes.size()), 0);
  EXPECT_EQ(file.at("b").bytes.size(), 68u);
  EXPECT_EQ(file.at("c").bytes.size(), 2u);
  for (const GgufTensor& tensor : file.tensors()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % 32, 0u) << tensor.name;
  }
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_THROW(file.at("absent"), Error);
}

TEST(Gguf, TheBytesAreThoseOfTheFormat) {
  const test::TemporaryFolder folder;
  write_gguf(folder / "x", {{"k", std::uint32_t{7}}}, {gguf_source("t", GgmlType::f16, {3, 2}, "abcdefghijkl")});
  std::string expected = begin_gguf(1, 1)
                             .add_string("k")
                             .add<std::uint32_t>(4)
                             .add<std::uint32_t>(7)
                             .add_tensor("t", {2, 3}, 1, 0)
                             .with_data(32);
  expected.replace(expected.size() - 32, 12, "abcdefghijkl");
  EXPECT_EQ(read_file(folder / "x"), expected);
}

TEST(Gguf, AnotherAlignment) {
  const test::TemporaryFolder folder;
  const GgufMetadata metadata = {{"general.alignment", std::uint32_t{64}}};
  write_gguf(folder / "x", metadata,
             {gguf_source("a", GgmlType::f32, {1}, "abcd"), gguf_source("b", GgmlType::f32, {1}, "efgh")});
  const GgufFile file = GgufFile::open(folder / "x");
  EXPECT_EQ(file.at("b").bytes.data() - file.at("a").bytes.data(), 64);
  for (const std::uint32_t alignment : {0u, 4u, 48u, 1u << 21}) {
    EXPECT_THROW(write_gguf(folder / "y", {{"general.alignment", alignment}}, {}), Error) << alignment;
    const std::string text = begin_gguf(0, 1).add_string("general.alignment").add<std::uint32_t>(4).add(alignment).text;
    EXPECT_NE(gguf_error(folder / "z", text).find("power of two"), std::string::npos) << alignment;
  }
}

TEST(Gguf, EveryTruncationIsAClearError) {
  const test::TemporaryFolder folder;
  write_sample(folder / "whole");
  const std::string whole = read_file(folder / "whole");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(gguf_error(folder / "cut", whole.substr(0, length)), "") << "cut to " << length << " bytes";
  }
  EXPECT_NE(gguf_error(folder / "long", whole + "x").find("1 bytes after the last tensor"), std::string::npos);
}

// Any byte may be anything: either it still reads, or it is an Error.
TEST(Gguf, RandomDamageNeverCrashes) {
  const test::TemporaryFolder folder;
  write_sample(folder / "whole");
  const std::string whole = read_file(folder / "whole");
  RandomStream random(1, "damage");
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = whole;
    for (std::uint64_t i = 0; i <= random.below(3); ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    gguf_error(folder / "damaged", damaged);
  }
}

TEST(Gguf, HostileHeadsAreNamed) {
  const test::TemporaryFolder folder;
  const std::uint64_t huge = ~std::uint64_t{0};
  const auto key = [](std::uint32_t type) { return begin_gguf(0, 1).add_string("k").add(type); };
  const auto tensor = [](std::vector<std::int64_t> shape, std::uint32_t type, std::uint64_t offset) {
    return begin_gguf(1, 0).add_tensor("t", std::move(shape), type, offset).with_data(64);
  };
  struct Case {
    std::string contents;
    const char* message;
  };
  const Case cases[] = {
      {"GGML" + begin_gguf(0, 0).with_data(0).substr(4), "does not begin with 'GGUF'"},
      {begin_gguf(0, 0, 1).with_data(0), "GGUF version 1"},
      {begin_gguf(0, 0, 0x03000000).with_data(0), "GGUF version 50331648"},
      {begin_gguf(huge, 0).with_data(0), "18446744073709551615 tensors do not fit"},
      {begin_gguf(0, huge).with_data(0), "18446744073709551615 keys do not fit"},
      {begin_gguf(0, 1).add(huge).with_data(64), "the name of a key at byte 32 should have 18446744073709551615 bytes"},
      {begin_gguf(0, 1).add_string("").with_data(64), "a key of 0 bytes"},
      {key(99).with_data(64), "key 'k': unknown type 99"},
      {key(8).add(huge).with_data(64), "should have 18446744073709551615 bytes"},
      {key(7).add<std::uint8_t>(2).with_data(64), "expected true (1) or false (0), found 2"},
      {key(9).add<std::uint32_t>(9).add<std::uint64_t>(0).with_data(64), "key 'k': unknown type 9"},
      {key(9).add<std::uint32_t>(0).add(huge).with_data(64), "an array of 18446744073709551615 elements"},
      {key(9).add<std::uint32_t>(8).add(huge / 8).with_data(64), "elements does not fit"},
      {begin_gguf(0, 2)
           .add_string("k")
           .add<std::uint32_t>(0)
           .add<char>(1)
           .add_string("k")
           .add<std::uint32_t>(0)
           .add<char>(1)
           .with_data(64),
       "the key 'k' appears twice"},
      {begin_gguf(0, 1).add_string("general.alignment").add<std::uint32_t>(0).add<char>(32).with_data(64), "32 bits"},
      {begin_gguf(2, 0).add_tensor("t", {8}, 0, 0).add_tensor("t", {8}, 0, 32).with_data(64), "'t' appears twice"},
      {begin_gguf(1, 0).add_tensor(std::string(64, 't'), {8}, 0, 0).with_data(32), "a tensor name of 64 bytes"},
      {tensor({}, 0, 0), "0 dimensions"},
      {tensor({1, 1, 1, 1, 1}, 0, 0), "5 dimensions"},
      {tensor({16}, 10, 0), "type 10 is not supported"},
      {tensor({0}, 0, 0), "a dimension of 0"},
      {tensor({-16}, 0, 0), "a dimension of -16"},
      {tensor({std::int64_t{1} << 62, 4}, 0, 0), "more than 2^63 bytes"},
      {tensor({16}, 8, 0), "rows of 16 elements; Q8_0 has blocks of 32"},
      {tensor({8}, 0, 32), "offset 32, but the previous one ends at 0"},
      {tensor({8}, 0, huge), "offset 18446744073709551615"},
      {tensor({1024}, 0, 0), "should have 4096 bytes, but only 64 follow"},
      {tensor({8}, 0, 0), "32 bytes after the last tensor"},
  };
  for (const Case& each : cases) {
    const std::string message = gguf_error(folder / "x", each.contents);
    EXPECT_NE(message.find(each.message), std::string::npos) << "expected: " << each.message << "\ngot: " << message;
    EXPECT_TRUE(message.starts_with((folder / "x").string())) << message;
  }
}

}  // namespace
}  // namespace crope::formats
