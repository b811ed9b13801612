#include "cli/openmp_spin.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/run_program.h"

namespace crope {
namespace {

// libgomp itself tells, when it starts, how long its threads will spin.
class OpenmpSpin : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("OMP_DISPLAY_ENV", "verbose", 1);
    ::unsetenv("OMP_WAIT_POLICY");
    ::unsetenv("GOMP_SPINCOUNT");
    if (test::run_program("params").err.find("GOMP_SPINCOUNT") == std::string::npos) {
      GTEST_SKIP() << "this OpenMP is not libgomp";
    }
  }
  void TearDown() override {
    ::unsetenv("OMP_DISPLAY_ENV");
    ::unsetenv("GOMP_SPINCOUNT");
    ::setenv("OMP_WAIT_POLICY", "passive", 1);
  }

  static bool is_bounded(const std::string& arguments) {
    return test::run_program(arguments).err.find("GOMP_SPINCOUNT = '2000'") != std::string::npos;
  }
};

TEST_F(OpenmpSpin, IsBoundedInCommandsThatComputeForLong) {
  EXPECT_TRUE(is_bounded("train"));
  EXPECT_TRUE(is_bounded("serve nowhere"));
  EXPECT_FALSE(is_bounded("params"));
}

TEST_F(OpenmpSpin, IsTheUsersWhereTheyHaveSaidSo) {
  ::setenv("GOMP_SPINCOUNT", "77", 1);
  EXPECT_FALSE(is_bounded("train"));
  EXPECT_NE(test::run_program("train").err.find("GOMP_SPINCOUNT = '77'"), std::string::npos);
  ::unsetenv("GOMP_SPINCOUNT");
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  EXPECT_FALSE(is_bounded("train"));
}

}  // namespace
}  // namespace crope
