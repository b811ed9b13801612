#include "crope/run/metrics_follower.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "crope/base/error.h"

namespace crope::run {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;  // also the longest line

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Whether the byte before `offset` ends a line, so that what was read is still the beginning of the file.
bool ends_line(const OpenFile& file, std::size_t offset) {
  char before = '\n';
  if (offset > 0 && ::pread(file.descriptor(), &before, 1, static_cast<off_t>(offset - 1)) != 1) return false;
  return before == '\n';
}

void append_lines(std::string_view text, std::vector<MetricsLine>& lines) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (auto line = parse_metrics_line(text.substr(begin, end - begin))) lines.push_back(std::move(*line));
    begin = end + 1;
  }
}

}  // namespace

MetricsFollower::News MetricsFollower::read() {
  News news;
  const OpenFile file(path_);
  struct stat status = {};
  if (file.descriptor() < 0) {
    if (errno != ENOENT) throw Error(fmt::format("cannot read {}: {}", path_.string(), std::strerror(errno)));
    offset_ = 0;
    news.restarted = true;
    return news;
  }
  if (::fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(fmt::format("cannot read {}: not a file", path_.string()));
  }
  const bool is_same_file = status.st_dev == device_ && status.st_ino == inode_;
  if (!is_same_file || static_cast<std::size_t>(status.st_size) < offset_ || !ends_line(file, offset_)) {
    news.restarted = true;
    offset_ = 0;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  std::string block;
  do {
    block.resize(kBlock);
    const ssize_t count = ::pread(file.descriptor(), block.data(), block.size(), static_cast<off_t>(offset_));
    if (count < 0) throw Error(fmt::format("cannot read {}: {}", path_.string(), std::strerror(errno)));
    block.resize(static_cast<std::size_t>(count));
    const std::size_t whole = block.rfind('\n') + 1;  // 0 without a line end
    append_lines(std::string_view(block).substr(0, whole), news.lines);
    // A full block without a line end is too long to be a line: skip it.
    offset_ += whole == 0 && block.size() == kBlock ? kBlock : whole;
  } while (block.size() == kBlock);
  return news;
}

}  // namespace crope::run
