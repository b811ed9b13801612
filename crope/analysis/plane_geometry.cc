#include "crope/analysis/plane_geometry.h"

#include <complex>

#include "crope/base/error.h"

namespace crope::analysis {
namespace {

using Complex = std::complex<double>;

PlaneMap apply(std::string name, const PlaneMatrix& matrix, const std::vector<PlaneVector>& vectors) {
  PlaneMap map{.name = std::move(name), .matrix = matrix};
  for (const PlaneVector& v : vectors) {
    map.images.push_back({matrix[0][0] * v[0] + matrix[0][1] * v[1], matrix[1][0] * v[0] + matrix[1][1] * v[1]});
  }
  const double determinant = matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0];
  map.orientation = determinant < 0 ? -1 : 1;
  return map;
}

}  // namespace

std::array<PlaneMap, 4> sigma_maps(const std::vector<PlaneVector>& vectors) {
  return {apply("σ0", {{{1, 0}, {0, 1}}}, vectors), apply("σ1", {{{0, 1}, {1, 0}}}, vectors),
          apply("σ2", {{{0, 1}, {-1, 0}}}, vectors), apply("σ3", {{{1, 0}, {0, -1}}}, vectors)};
}

std::array<PlaneMap, 2> maps_to(const PlaneVector& target, const std::vector<PlaneVector>& vectors) {
  if (vectors.empty() || std::hypot(vectors[0][0], vectors[0][1]) == 0) {
    throw Error("maps_to: expected a first vector that is not zero");
  }
  const Complex z(vectors[0][0], vectors[0][1]), w(target[0], target[1]);
  // z -> c z, and z -> c conj(z).
  const Complex turn = w / z, mirror = w / std::conj(z);
  return {apply("rotation and scaling (σ0, σ2)", {{{turn.real(), -turn.imag()}, {turn.imag(), turn.real()}}}, vectors),
          apply("reflection and scaling (σ1, σ3)", {{{mirror.real(), mirror.imag()}, {mirror.imag(), -mirror.real()}}},
                vectors)};
}

}  // namespace crope::analysis
