// A matrix beside a vector, written out entry by entry (Figure nparams), and arrows in the plane (Figure fspace).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "crope/report/figure.h"

namespace crope::report {

struct MatrixEntry {
  std::string text;
  Color color;
};

struct MatrixPicture {
  std::string name;
  std::string title;
  std::vector<std::vector<MatrixEntry>> entries;  // rows; 2x2 blocks are set apart
  std::vector<std::string> vector;                // as many as columns
  std::string note;                               // below
};

Figure matrix_picture(const MatrixPicture& picture);

struct PlaneArrow {
  double x, y;
  Color color;
  bool faint = false;  // where it was before
  std::string label;
};

struct PlanePicture {
  std::string name;
  std::string title;
  std::vector<PlaneArrow> arrows;  // from the origin
  double radius = 1.25;
  std::string note;
  // A line through the origin about which the plane is mirrored; {0, 0}: none.
  std::array<double, 2> mirror = {0, 0};
};

Figure plane_picture(const PlanePicture& picture);

}  // namespace crope::report
