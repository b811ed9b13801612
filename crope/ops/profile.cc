#include "crope/ops/profile.h"

#include <algorithm>
#include <utility>

namespace crope::ops {
namespace {

thread_local ProfileHandle active;

Profile* active_profile() {
  return active ? *active : nullptr;
}

}  // namespace

void Profile::charge() {
  const Clock::time_point now = Clock::now();
  if (current_ != kNone) rows_[current_].seconds += std::chrono::duration<double>(now - since_).count();
  since_ = now;
}

std::size_t Profile::row_of(const char* name, bool backward) {
  const std::string full = backward ? std::string(name) + " backward" : name;
  const auto found = std::ranges::find(rows_, full, &ProfileRow::name);
  if (found != rows_.end()) return static_cast<std::size_t>(found - rows_.begin());
  rows_.push_back({.name = full});
  return rows_.size() - 1;
}

ProfileHandle current_profile() {
  return active;
}

ProfileScope::ProfileScope(Profile& profile)
    : mine_(std::make_shared<Profile*>(&profile)), before_(std::exchange(active, mine_)) {}

ProfileScope::ProfileScope(const ProfileHandle& other) : before_(active) {
  if (active_profile() == nullptr) active = other;
}

ProfileScope::~ProfileScope() {
  if (mine_) *mine_ = nullptr;
  active = std::move(before_);
}

ProfiledPart::ProfiledPart(const char* name, Pass pass) : profile_(active_profile()) {
  if (profile_ == nullptr) return;
  profile_->charge();
  before_ = std::exchange(profile_->current_, profile_->row_of(name, pass == Pass::backward));
  profile_->rows_[profile_->current_].calls += 1;
}

ProfiledPart::~ProfiledPart() {
  if (profile_ == nullptr) return;
  profile_->charge();
  profile_->current_ = before_;
}

void count_flops(double flops) {
  Profile* const profile = active_profile();
  if (profile != nullptr && profile->current_ != Profile::kNone) profile->rows_[profile->current_].flops += flops;
}

}  // namespace crope::ops
