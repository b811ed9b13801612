#include "crope/serve/api_key.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::serve {
namespace {

TEST(ApiKey, AdmitsTheKeyAlone) {
  const ApiKey key("s3cret-key");
  EXPECT_TRUE(key.admits("Bearer s3cret-key"));
  EXPECT_TRUE(key.admits("bearer s3cret-key"));
  for (const char* wrong : {"", "Bearer", "Bearer ", "s3cret-key", "Bearer s3cret-ke", "Bearer s3cret-key2",
                            "Bearer S3cret-key", "Bearer  s3cret-key", "Basic s3cret-key"}) {
    EXPECT_FALSE(key.admits(wrong)) << wrong;
  }
}

TEST(ApiKey, IsTheFirstLineOfAFile) {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "key", "abc\r\nsomething else\n");
  EXPECT_TRUE(ApiKey::read(folder.path() / "key").admits("Bearer abc"));
  write_file(folder.path() / "key", "abc");
  EXPECT_TRUE(ApiKey::read(folder.path() / "key").admits("Bearer abc"));
  write_file(folder.path() / "key", "\nabc");
  EXPECT_THROW(ApiKey::read(folder.path() / "key"), UsageError);
  write_file(folder.path() / "key", "a b");
  EXPECT_THROW(ApiKey::read(folder.path() / "key"), UsageError);
  EXPECT_THROW(ApiKey::read(folder.path() / "none"), Error);
}

}  // namespace
}  // namespace crope::serve
