// A fixture with a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace crope::data {

class ScratchFolder : public testing::Test {
 protected:
  // The full name of a new file with this content.
  std::string put(const std::string& name, const std::string& bytes) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

 private:
  const test::TemporaryFolder temporary_;

 protected:
  const std::filesystem::path folder_ = temporary_.path();
};

}  // namespace crope::data
