#include "crope/ops/profile.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "crope/ops/linear.h"
#include "crope/ops/newton_schulz.h"

namespace crope::ops {
namespace {

TEST(Profile, WithoutAScopeNothingIsEntered) {
  Profile profile;
  { const ProfiledPart part("alone"); }
  count_flops(1);
  EXPECT_TRUE(profile.rows().empty());
}

// Each moment counts for the innermost part alone.
TEST(Profile, PartsInsideOthersAreTakenOff) {
  using namespace std::chrono_literals;
  Profile profile;
  {
    const ProfileScope scope(profile);
    const ProfiledPart outer("outer");
    std::this_thread::sleep_for(5ms);
    {
      const ProfiledPart inner("inner");
      std::this_thread::sleep_for(60ms);
      count_flops(7);
    }
    count_flops(3);
  }
  ASSERT_EQ(profile.rows().size(), 2u);
  const ProfileRow &outer = profile.rows()[0], &inner = profile.rows()[1];
  EXPECT_EQ(outer.name, "outer");
  EXPECT_GE(outer.seconds, 0.005);
  EXPECT_GE(inner.seconds, 0.060);
  EXPECT_EQ(outer.flops, 3);
  EXPECT_EQ(inner.flops, 7);
}

TEST(Profile, CountsForwardAndBackwardOfAnOperation) {
  const torch::Tensor x = at::randn({5, 4}).requires_grad_(), w = at::randn({3, 4}).requires_grad_();
  Profile profile;
  {
    const ProfileScope scope(profile);
    ops::linear(x, w).sum().backward();
  }
  ASSERT_EQ(profile.rows().size(), 2u);
  EXPECT_EQ(profile.rows()[0].name, "linear");
  EXPECT_EQ(profile.rows()[0].calls, 1);
  EXPECT_EQ(profile.rows()[0].flops, 2 * 5 * 4 * 3);
  EXPECT_EQ(profile.rows()[1].name, "linear backward");
  EXPECT_EQ(profile.rows()[1].flops, 2 * 2 * 5 * 4 * 3);
}

TEST(Profile, AnotherThreadMayEnterWhileTheScopeLives) {
  Profile profile;
  ProfileHandle handle;
  const auto enter = [&](const char* name) {
    std::thread([&] {
      const ProfileScope lent(handle);
      const ProfiledPart part(name);
    }).join();
  };
  {
    const ProfileScope scope(profile);
    handle = current_profile();
    enter("inside");
    Profile own;
    const ProfileScope inner(own);
    const ProfileScope lent(handle);
    const ProfiledPart part("own");
    EXPECT_EQ(own.rows().size(), 1u) << "a thread's own profile comes first";
  }
  enter("behind");
  ASSERT_EQ(profile.rows().size(), 1u);
  EXPECT_EQ(profile.rows()[0].name, "inside");
}

// The gradient runs on a thread that has no profile.
TEST(Profile, BackwardOnAnotherThread) {
  const torch::Tensor x = at::randn({5, 4}).requires_grad_(), w = at::randn({3, 4}).requires_grad_();
  Profile profile;
  const ProfileScope scope(profile);
  const torch::Tensor y = ops::linear(x, w).sum();
  std::thread([&] { y.backward(); }).join();
  ASSERT_EQ(profile.rows().size(), 2u);
  EXPECT_EQ(profile.rows()[1].name, "linear backward");
}

TEST(Profile, ScopesNest) {
  Profile outer, inner;
  const ProfileScope scope(outer);
  {
    const ProfileScope other(inner);
    const ProfiledPart part("a");
  }
  { const ProfiledPart part("b"); }
  ASSERT_EQ(inner.rows().size(), 1u);
  EXPECT_EQ(inner.rows()[0].name, "a");
  ASSERT_EQ(outer.rows().size(), 1u);
  EXPECT_EQ(outer.rows()[0].name, "b");
}

// A square real matrix takes two whole products a step, a pair of half its size 1.5 + 4.5 of an eighth each.
TEST(Profile, NewtonSchulzTakesAThirdForAPair) {
  const NewtonSchulzOptions options;
  const double real = newton_schulz_flops(64, 64, MatrixKind::real, options);
  EXPECT_EQ(real, 5 * 2 * 2.0 * 64 * 64 * 64);
  EXPECT_EQ(newton_schulz_flops(32, 32, MatrixKind::pair, options), 5 * 6 * 2.0 * 32 * 32 * 32);
}

}  // namespace
}  // namespace crope::ops
