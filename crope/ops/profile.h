// Where the time of a step goes, by operation. While a ProfileScope lives, the operations of its thread are timed; each
// moment counts for the innermost operation alone, so that the rows add up to no more than the whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace crope::ops {

struct ProfileRow {
  std::string name;  // "linear", "linear backward", "muon"
  std::int64_t calls = 0;
  double seconds = 0;
  double flops = 0;  // of matrix products that the result needs
};

class Profile {
 public:
  // In the order of their first call.
  const std::vector<ProfileRow>& rows() const { return rows_; }

 private:
  friend class ProfiledPart;
  friend void count_flops(double flops);
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kNone = SIZE_MAX;
  void charge();  // the time since the last change to the current row
  std::size_t row_of(const char* name, bool backward);

  std::vector<ProfileRow> rows_;
  std::size_t current_ = kNone;
  Clock::time_point since_;
};

// The profile of a scope; null once the scope has ended.
using ProfileHandle = std::shared_ptr<Profile*>;

// The profile of this thread's innermost scope, or null.
ProfileHandle current_profile();

// Makes `profile` the one that this thread's operations are entered in.
class ProfileScope {
 public:
  explicit ProfileScope(Profile& profile);
  // Lends another thread's profile to this one, unless this one has its own: for autograd's threads, which work while
  // the other waits. REQUIRES: the other thread enters nothing in that time.
  explicit ProfileScope(const ProfileHandle& other);
  ~ProfileScope();

  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  ProfileHandle mine_, before_;
};

// One operation, from here to the end of the block. Costs nothing to speak of without a profile.
enum class Pass { forward, backward };
class ProfiledPart {
 public:
  explicit ProfiledPart(const char* name, Pass pass = Pass::forward);
  ~ProfiledPart();

  ProfiledPart(const ProfiledPart&) = delete;
  ProfiledPart& operator=(const ProfiledPart&) = delete;

 private:
  Profile* profile_;
  std::size_t before_ = 0;
};

// Adds to the operation that is being timed, if there is one.
void count_flops(double flops);

}  // namespace crope::ops
