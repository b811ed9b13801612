#include "crope/serve/run_view.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "crope/base/error.h"
#include "crope/run/metrics_follower.h"
#include "crope/run/run_dir.h"

namespace crope::serve {
namespace fs = std::filesystem;
namespace {

using Point = std::pair<std::int64_t, double>;  // step, loss

// Steps only grow. One that does not is of a run that was set back: what it made before is gone.
void add_point(std::vector<Point>& points, Point point) {
  while (!points.empty() && points.back().first >= point.first) points.pop_back();
  points.push_back(point);
}

// The points after `step`, each the mean of as many as it takes.
Json thinned(const std::vector<Point>& points, std::int64_t step) {
  const auto begin = std::ranges::upper_bound(points, step, {}, &Point::first);
  const auto count = static_cast<std::size_t>(points.end() - begin);
  const std::size_t of = std::max<std::size_t>(1, (count + RunView::kMaxPoints - 1) / RunView::kMaxPoints);
  Json list = Json::array();
  for (std::size_t first = 0; first < count; first += of) {
    const std::size_t last = std::min(first + of, count);
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += begin[static_cast<std::ptrdiff_t>(i)].second;
    list.push_back({begin[static_cast<std::ptrdiff_t>(last - 1)].first, sum / static_cast<double>(last - first)});
  }
  return list;
}

// Null where nothing tells.
Json planned_steps(const fs::path& dir) {
  try {
    const auto steps = run::planned_steps(run::read_record(dir));
    return steps ? Json(*steps) : Json();
  } catch (const Error&) {
    return nullptr;  // being written, or damaged
  }
}

}  // namespace

struct RunView::State {
  explicit State(fs::path folder) : dir(std::move(folder)), follower(dir / run::kMetricsFile) {}

  fs::path dir;
  std::mutex mutex;
  run::MetricsFollower follower;
  std::vector<Point> train, val;
  Json latest;

  void read_new_lines() {
    run::MetricsFollower::News news = follower.read();
    if (news.restarted) {
      train.clear();
      val.clear();
      latest = nullptr;
    }
    for (run::MetricsLine& line : news.lines) {
      const auto add = [&](const char* field, std::vector<Point>& points) {
        const auto value = line.number(field);
        if (!value || !std::isfinite(*value)) return false;
        add_point(points, {line.step, *value});
        return true;
      };
      add("val_loss", val);
      if (add("loss", train)) latest = std::move(line.fields);
    }
  }
};

RunView::RunView(fs::path dir) : state_(std::make_unique<State>(std::move(dir))) {}

RunView::~RunView() = default;

bool RunView::is_run() const {
  return run::holds_run(state_->dir);
}

Json RunView::after(std::int64_t step) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  state.read_new_lines();
  const auto last = [](const std::vector<Point>& points) { return points.empty() ? 0 : points.back().first; };
  return {{"run", is_run()},
          {"last_step", std::max(last(state.train), last(state.val))},
          {"steps", planned_steps(state.dir)},
          {"train", thinned(state.train, step)},
          {"val", thinned(state.val, step)},
          {"latest", state.latest}};
}

}  // namespace crope::serve
