// The paper's figures of runs: parameters, losses, benchmarks, throughput.
#pragma once

#include <cstdint>
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

// Figure train_val_loss: training, and validation where any run has it. Solid lines are complex-linear, dashed dense,
// colours go with the number of parameters; the last 200 steps (or the last quarter of a shorter run) are enlarged.
std::vector<Figure> loss_figures(const std::vector<RunData>& runs);

// Figure downstream: one for each benchmark that any run has, bars with standard errors.
std::vector<Figure> downstream_figures(const std::vector<RunData>& runs);

// Tokens per second while training; none where no run says.
std::vector<Figure> throughput_figures(const std::vector<RunData>& runs);

// 168989696 -> "169.0M"
std::string format_parameters(std::int64_t count);

}  // namespace crope::report
