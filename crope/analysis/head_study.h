// How well the illustrative heads do their tasks: at one size, against width and length, and where absolute
// positions fail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crope/analysis/illustrative_heads.h"
#include "crope/base/log.h"

namespace crope::analysis {

// Over the rows that have a target.
struct HeadMeasures {
  std::int64_t rows = 0;
  std::int64_t rows_right = 0;   // the largest weight is on a target
  double target_weight = 0;      // mean of the weight on all targets of a row
  double largest_elsewhere = 0;  // mean of the largest weight on another position
  double target_score = 0;       // mean of the best target's score, over sqrt(D): 1 is a perfect match
  double elsewhere_score = 0;    // mean of the best other score that the mask lets through, likewise
};

HeadMeasures measure_head(const IllustrativeHead& made, ops::Mask mask);

struct HeadSample {
  HeadKind kind;
  HeadTask task;
  HeadOptions options;
  HeadMeasures measures;
};

// The attention weights of a short sequence, for drawing.
struct HeadPicture {
  HeadKind kind;
  HeadTask task;
  std::vector<std::int64_t> token_ids;             // [T]
  std::vector<std::vector<std::int64_t>> targets;  // [T]
  std::vector<std::vector<double>> weights;        // [T][T]
};

struct AbsoluteSample {
  AbsoluteTry attempt;
  std::int64_t first_position;
  HeadMeasures measures;
};

struct HeadStudyOptions {
  HeadOptions head;  // the size at which everything is tabulated; its mask is not used
  std::vector<std::int64_t> widths = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  std::vector<std::int64_t> lengths = {8, 16, 32, 64, 128, 256, 512};
  std::vector<std::int64_t> first_positions = {0, 128, 256, 512, 1024, 4096, 16384};
  std::int64_t picture_length = 16;
};

struct HeadStudy {
  HeadStudyOptions options;
  std::vector<HeadSample> samples;    // each kind, task and mask at options.head
  std::vector<HeadSample> by_width;   // each kind and task, bidirectional
  std::vector<HeadSample> by_length;  // each kind and task, bidirectional
  std::vector<HeadPicture> pictures;  // each kind and task, bidirectional
  std::vector<AbsoluteSample> absolute;
  // How much the choice between "next" and "nexnext" moves a score in a way that depends on query and key position
  // together: the root mean square of S_next - S_nexnext after its rows' and columns' means are taken out, over
  // sqrt(D). Zero for absolute positions whatever the weights, because a token's part of the score knows nothing of its
  // position.
  std::vector<double> interaction;  // of each of kHeadKinds
  // The share of the appendix's W_q, as the dense matrix of rope, that is not complex-linear.
  double query_conjugate_share;
  // Rows right with the phases as printed, and rows whose largest weight is as far behind as it should be ahead.
  HeadMeasures as_printed;
  std::int64_t as_printed_mirrored;
};

// Progress goes to `log`.
HeadStudy study_heads(const HeadStudyOptions& options, Log& log);

}  // namespace crope::analysis
