#include "crope/serve/run_view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "crope/base/error.h"

namespace crope::serve {
namespace fs = std::filesystem;
namespace {

// Also the longest line that is believed to be one.
constexpr std::size_t kBlock = std::size_t{1} << 20;

using Point = std::pair<std::int64_t, double>;  // step, loss

class OpenFile {
 public:
  explicit OpenFile(const fs::path& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

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

// How many updates the run is to have; null where nothing says.
Json planned_steps(const fs::path& run_json) {
  try {
    const Json run = read_json(run_json, kBlock);
    const Json steps = run.at(Json::json_pointer("/train/steps"));
    return steps.is_number_integer() ? steps : Json();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

struct RunView::State {
  fs::path dir;
  std::mutex mutex;
  dev_t device = 0;
  ino_t inode = 0;
  std::size_t offset = 0;  // behind the last whole line that was read
  std::vector<Point> train, val;
  Json latest;

  fs::path metrics() const { return dir / "metrics.jsonl"; }

  void forget() {
    offset = 0;
    train.clear();
    val.clear();
    latest = nullptr;
  }

  void take_line(std::string_view line) {
    if (line.size() > kBlock) return;
    Json json;
    try {
      json = parse_json(line, "metrics.jsonl");
    } catch (const Error&) {
      return;
    }
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) return;
    const auto step = json["step"].get<std::int64_t>();
    const auto add = [&](const char* key, std::vector<Point>& points) {
      const auto found = json.find(key);
      if (found == json.end() || !found->is_number() || !std::isfinite(found->get<double>())) return false;
      add_point(points, {step, found->get<double>()});
      return true;
    };
    add("val_loss", val);
    if (add("loss", train)) latest = std::move(json);
  }

  // Whether what was read so far is still the beginning of the file.
  bool continues(const OpenFile& file, const struct stat& status) {
    if (status.st_dev != device || status.st_ino != inode || static_cast<std::size_t>(status.st_size) < offset) {
      return false;
    }
    char before = '\n';
    if (offset > 0 && ::pread(file.descriptor(), &before, 1, static_cast<off_t>(offset - 1)) != 1) return false;
    return before == '\n';
  }

  void read_new_lines() {
    const OpenFile file(metrics());
    struct stat status = {};
    if (file.descriptor() < 0) {
      if (errno != ENOENT) throw Error(fmt::format("cannot read {}: {}", metrics().string(), std::strerror(errno)));
      forget();
      return;
    }
    if (::fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) {
      throw Error(fmt::format("cannot read {}: not a file", metrics().string()));
    }
    if (!continues(file, status)) {
      forget();
      device = status.st_dev;
      inode = status.st_ino;
    }
    std::string block;
    while (true) {
      block.resize(kBlock);
      const ssize_t count = ::pread(file.descriptor(), block.data(), block.size(), static_cast<off_t>(offset));
      if (count < 0) throw Error(fmt::format("cannot read {}: {}", metrics().string(), std::strerror(errno)));
      block.resize(static_cast<std::size_t>(count));
      const std::size_t whole = block.rfind('\n') + 1;  // 0 where there is none
      for (std::size_t begin = 0; begin < whole;) {
        const std::size_t end = block.find('\n', begin);
        take_line(std::string_view(block).substr(begin, end - begin));
        begin = end + 1;
      }
      // A block without a line end is no line of ours: what is behind it may be.
      offset += whole == 0 && block.size() == kBlock ? kBlock : whole;
      if (block.size() < kBlock) return;
    }
  }
};

RunView::RunView(fs::path dir) : state_(std::make_unique<State>()) {
  state_->dir = std::move(dir);
}

RunView::~RunView() = default;

bool RunView::is_run() const {
  std::error_code ignored;
  return fs::exists(state_->dir / "run.json", ignored) || fs::exists(state_->metrics(), ignored);
}

Json RunView::after(std::int64_t step) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  state.read_new_lines();
  const auto last = [](const std::vector<Point>& points) { return points.empty() ? 0 : points.back().first; };
  return {{"run", is_run()},
          {"last_step", std::max(last(state.train), last(state.val))},
          {"steps", planned_steps(state.dir / "run.json")},
          {"train", thinned(state.train, step)},
          {"val", thinned(state.val, step)},
          {"latest", state.latest}};
}

}  // namespace crope::serve
