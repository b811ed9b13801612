#include "crope/interop/gguf_files.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/formats/gguf_writer.h"
#include "tests/temporary_folder.h"

namespace crope::interop {
namespace {

void write_part(const std::filesystem::path& path, std::uint16_t number, const std::string& tensor) {
  formats::GgufMetadata keys;
  keys.emplace_back("split.no", number);
  keys.emplace_back("split.count", std::uint16_t{2});
  const std::string bytes(4, 'x');
  formats::write_gguf(path, keys, {{tensor, formats::GgmlType::f32, {1}, [bytes](const auto& sink) {
                                      sink(std::as_bytes(std::span(bytes.data(), bytes.size())));
                                    }}});
}

TEST(GgufFiles, PartsAreOneModel) {
  const test::TemporaryFolder folder;
  write_part(folder / "m-00001-of-00002.gguf", 0, "a");
  write_part(folder / "m-00002-of-00002.gguf", 1, "b");
  const GgufFiles files(folder / "m-00001-of-00002.gguf");
  EXPECT_EQ(files.names(), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(files.at("b").bytes.size(), 4u);
  EXPECT_EQ(files.find("c"), nullptr);
  EXPECT_THROW(files.at("c"), Error);
}

TEST(GgufFiles, PartsThatDoNotFitAreRefused) {
  const test::TemporaryFolder folder;
  const auto first = folder / "m-00001-of-00002.gguf", second = folder / "m-00002-of-00002.gguf";
  write_part(first, 0, "a");
  EXPECT_THROW(GgufFiles{first}, Error) << "the second is missing";
  write_part(second, 0, "b");
  EXPECT_THROW(GgufFiles{first}, Error) << "the second is not the second";
  write_part(second, 1, "a");
  EXPECT_THROW(GgufFiles{first}, Error) << "both have the tensor";
  write_part(folder / "m.gguf", 0, "a");
  EXPECT_THROW(GgufFiles{folder / "m.gguf"}, Error) << "the name says nothing of parts";
}

}  // namespace
}  // namespace crope::interop
