#include "crope/formats/gguf_writer.h"

#include <gtest/gtest.h>

#include "tests/temporary_folder.h"

namespace crope::formats {
namespace {

GgufTensorSource text_source(const std::string& name, GgmlType type, std::vector<std::int64_t> shape,
                             const std::string& bytes) {
  return {name, type, std::move(shape),
          [bytes](const GgufTensorSource::Sink& sink) { sink(std::as_bytes(std::span(bytes.data(), bytes.size()))); }};
}

TEST(GgufWriter, RefusesAndLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "old");
  const GgufTensorSource good = text_source("a", GgmlType::f32, {1}, "abcd");
  EXPECT_THROW(write_gguf(folder / "x", {}, {text_source("a", GgmlType::f32, {2}, "abcd")}), Error);
  EXPECT_THROW(write_gguf(folder / "x", {}, {text_source("a", GgmlType::f32, {-1}, "")}), Error);
  EXPECT_THROW(write_gguf(folder / "x", {}, {text_source("a", GgmlType::q8_0, {33}, "")}), Error);
  EXPECT_THROW(write_gguf(folder / "x", {}, {text_source(std::string(64, 'n'), GgmlType::f32, {1}, "abcd")}), Error);
  EXPECT_THROW(write_gguf(folder / "x", {}, {good, good}), Error);
  EXPECT_THROW(write_gguf(folder / "x", {{"k", true}, {"k", true}}, {good}), Error);
  EXPECT_THROW(write_gguf(folder / "x", {{"", true}}, {good}), Error);
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

// A tensor is produced when the writer has come to it, once each, in order.
TEST(GgufWriter, ProducesOneTensorAtATime) {
  const test::TemporaryFolder folder;
  std::string order;
  std::vector<GgufTensorSource> sources;
  for (const char* name : {"a", "b", "c"}) {
    GgufTensorSource source = text_source(name, GgmlType::f32, {2}, std::string(8, *name));
    source.produce = [produce = source.produce, name, &order](const GgufTensorSource::Sink& sink) {
      order += name;
      produce(sink);
      order += '.';
    };
    sources.push_back(std::move(source));
  }
  write_gguf(folder / "x", {}, sources);
  EXPECT_EQ(order, "a.b.c.");
  const GgufFile file = GgufFile::open(folder / "x");
  EXPECT_EQ(std::to_integer<char>(file.at("c").bytes[7]), 'c');
}

}  // namespace
}  // namespace crope::formats
