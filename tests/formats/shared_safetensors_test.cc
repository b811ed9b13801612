#include "crope/formats/shared_safetensors.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::formats {
namespace {

// A tensor whose data is `letters`.
TensorSource letters_of(const std::string& name, const std::string& letters) {
  return {name, ElementType::u8, {static_cast<std::int64_t>(letters.size())}, [letters](const auto& sink) {
            sink(std::as_bytes(std::span(letters.data(), letters.size())));
          }};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class Shared : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  std::vector<TensorSource> tensors_ = {letters_of("b", "hello"), letters_of("a", "wide world"), letters_of("c", "")};
};

TEST_F(Shared, PartsOfSeveralWritersAreTheFileOfOne) {
  write_safetensors(folder_ / "whole", tensors_);
  SharedSafetensors one(folder_ / "parts", tensors_), other(folder_ / "parts", tensors_);
  one.create();
  other.write("a", 5, bytes_of("world"));
  one.write("b", 0, bytes_of("hello"));
  one.write("a", 0, bytes_of("wide "));
  one.flush();
  other.flush();
  EXPECT_EQ(read_file(folder_ / "parts"), read_file(folder_ / "whole"));
}

TEST_F(Shared, NothingIsWrittenOutsideATensor) {
  SharedSafetensors file(folder_ / "parts", tensors_);
  file.create();
  EXPECT_THROW(file.write("a", 6, bytes_of("world")), Error);
  EXPECT_THROW(file.write("a", 1000, bytes_of("")), Error);
  EXPECT_THROW(file.write("c", 0, bytes_of("x")), Error);
  EXPECT_THROW(file.write("d", 0, bytes_of("x")), Error);
}

TEST_F(Shared, AFileThatIsThereOrNotThereIsAnError) {
  EXPECT_THROW(SharedSafetensors(folder_ / "absent", tensors_).write("b", 0, bytes_of("x")), Error);
  write_file(folder_ / "there", "x");
  EXPECT_THROW(SharedSafetensors(folder_ / "there", tensors_).create(), Error);
  EXPECT_THROW(SharedSafetensors(folder_ / "x", {letters_of("a", "1"), letters_of("a", "2")}), Error);
}

}  // namespace
}  // namespace crope::formats
