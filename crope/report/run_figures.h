// The paper's figures of runs: parameters, losses, benchmarks, throughput. Callers compute the means and intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crope/report/figure.h"
#include "crope/report/run_data.h"

namespace crope::report {

struct ParameterBar {
  std::string label;
  std::string variant;
  std::int64_t embedding, attention, feed_forward, norm;
  double attention_saving;  // against rope of the same shape

  std::int64_t total() const { return embedding + attention + feed_forward + norm; }
};

// Figure nparams: a projection of four dimensions, dense and tied.
std::vector<Figure> parameter_schematic();

// Figure param_counts, right.
Figure parameter_bars(const std::vector<ParameterBar>& bars);

// The loss of one variant over the steps: the mean over its seeds, and the range that they span.
struct LossCurve {
  std::string label;
  std::string variant;
  Points whole;
  Band whole_range;  // empty for a single run
  Points end;        // the last steps, to be enlarged
  Band end_range;
};

struct LossFigure {
  std::string name;
  std::string title;
  std::string end_title;  // of the enlarged steps
  std::vector<LossCurve> curves;
};

// Figure train_val_loss. Solid lines are complex-linear, dashed ones dense, colours go with the number of parameters.
// The last steps are enlarged in an inset where a curve has at least three points there.
Figure loss_figure(const LossFigure& figure);

// A number of one variant: the mean over its seeds.
struct VariantValue {
  std::string label;
  std::string variant;
  double mean;
  std::optional<double> margin = {};  // half of the 95% interval
  std::vector<double> values = {};    // of each seed
  std::string detail = {};            // second column of the figure
};

// Figure downstream, one benchmark: points with intervals.
Figure downstream_figure(const Benchmark& benchmark, const std::vector<VariantValue>& scores);

// The difference of the final validation loss to rope's, seed by seed. `notes` are lines below the axis.
Figure loss_difference_figure(const std::vector<VariantValue>& differences, const std::vector<std::string>& notes);

// Tokens per second while training. REQUIRES: not empty.
Figure throughput_figure(const std::vector<VariantValue>& rates);

// 168989696 -> "169.0M"
std::string format_parameters(std::int64_t count);

}  // namespace crope::report
