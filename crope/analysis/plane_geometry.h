// The action of the four parts of a 2x2 block on the plane (Figure fspace): on one vector, and on several at once.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace crope::analysis {

using PlaneVector = std::array<double, 2>;
using PlaneMatrix = std::array<std::array<double, 2>, 2>;

struct PlaneMap {
  std::string name;
  PlaneMatrix matrix;
  std::vector<PlaneVector> images;  // of the vectors it was asked about, in their order
  double orientation;  // the sign of the determinant: +1 keeps the order of vectors around the origin, -1 turns it
};

// s0 to s3 applied to `vectors`; s2 is the block of b, [[0, 1], [-1, 0]].
std::array<PlaneMap, 4> sigma_maps(const std::vector<PlaneVector>& vectors);

// The one rotation with scaling (s0 and s2) and the one reflection with scaling (s1 and s3) that take vectors[0] to
// `target`. Either reaches every target with one vector; the images of the other vectors tell them apart.
// Throws Error if there is no vector or the first is zero.
std::array<PlaneMap, 2> maps_to(const PlaneVector& target, const std::vector<PlaneVector>& vectors);

}  // namespace crope::analysis
