#include "crope/dist/error_file.h"

#include <gtest/gtest.h>

#include "crope/base/json.h"
#include "tests/temporary_folder.h"

namespace crope::dist {
namespace {

TEST(ErrorFile, HasWhatTorchrunReads) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "error.json").string();
  write_error_file("the disk is full", [&](const char* name) -> std::optional<std::string> {
    if (std::string(name) == "TORCHELASTIC_ERROR_FILE") return path;
    if (std::string(name) == "RANK") return "3";
    return {};
  });
  const Json message = read_json(path).at("message");
  EXPECT_EQ(message.at("message"), "the disk is full");
  EXPECT_EQ(message.at("extraInfo").at("py_callstack"), "rank 3: the disk is full");
  EXPECT_GT(std::stoll(message.at("extraInfo").at("timestamp").get<std::string>()), 1'700'000'000);
}

TEST(ErrorFile, IsNoErrorOfItsOwn) {
  const auto nowhere = [](const char*) -> std::optional<std::string> { return {}; };
  const auto impossible = [](const char*) -> std::optional<std::string> { return "/no/such/folder/error.json"; };
  EXPECT_NO_THROW(write_error_file("x", nowhere));
  EXPECT_NO_THROW(write_error_file("x", impossible));
}

}  // namespace
}  // namespace crope::dist
