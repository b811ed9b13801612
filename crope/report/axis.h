// Ranges and round tics of an axis.
#pragma once

#include <string>

namespace crope::report {

// The smallest and the largest of the finite values taken so far.
struct Extent {
  double low, high;

  Extent();
  Extent(double low, double high) : low(low), high(high) {}

  void take(double value);
  bool empty() const { return low > high; }
  double size() const { return high - low; }

  // With `share` of its size added at both ends; never of size zero.
  Extent padded(double share) const;
};

// 1, 2 or 5 times a power of ten: the distance of about `count` tics. REQUIRES: extent.size() > 0.
double round_step(const Extent& extent, double count);

// Decimals that a multiple of `step` needs.
int decimals(double step);

// set xrange [0:1]
std::string range_command(const char* axis, const Extent& extent);

// set xtics 0.2; empty for an extent without size.
std::string tics_command(const char* axis, const Extent& extent, double count);

}  // namespace crope::report
