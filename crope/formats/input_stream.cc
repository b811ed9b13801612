#include "crope/formats/input_stream.h"

#include <arrow/result.h>
#include <arrow/util/compression.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
constexpr const char* kDamaged = "the file is damaged or was cut off: fetch or write it again";

arrow::Compression::type compression_of(const fs::path& path) {
  if (path.extension() == ".gz") return arrow::Compression::GZIP;
  if (path.extension() == ".zst") return arrow::Compression::ZSTD;
  return arrow::Compression::UNCOMPRESSED;
}

}  // namespace

struct InputStream::State {
  fs::path path;
  int descriptor = -1;
  std::uint64_t taken = 0;  // bytes read from the descriptor

  // Empty for plain files.
  std::unique_ptr<arrow::util::Codec> codec;
  std::shared_ptr<arrow::util::Decompressor> decompressor;
  std::vector<std::uint8_t> block;
  std::size_t begin = 0, end = 0;  // what of the block is still to be decompressed
  bool member_open = true;         // a member or frame has begun, or must begin, and is not finished

  ~State() {
    if (descriptor > STDIN_FILENO) ::close(descriptor);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: {} (at byte {} of the file)", path.string(), what, taken - (end - begin)), kDamaged);
  }

  std::size_t read_raw(void* out, std::size_t size) {
    while (true) {
      const ssize_t got = ::read(descriptor, out, size);
      if (got < 0 && errno == EINTR) {
        throw_if_interrupted();
        continue;
      }
      if (got < 0) throw Error(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
      taken += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
  }

  void start_member() {
    auto made = codec->MakeDecompressor();
    if (!made.ok()) throw Error(fmt::format("{}: {}", path.string(), made.status().message()));
    decompressor = *made;
  }

  // Some bytes, at least one unless the file has ended.
  std::size_t decompress(std::span<char> out) {
    while (true) {
      if (begin == end) {
        begin = 0;
        end = read_raw(block.data(), block.size());
        if (end == 0 && member_open) fail("the compressed data ends too early");
        if (end == 0) return 0;
      }
      if (!member_open) {
        start_member();
        member_open = true;
      }
      const auto step =
          decompressor->Decompress(static_cast<std::int64_t>(end - begin), block.data() + begin,
                                   static_cast<std::int64_t>(out.size()), reinterpret_cast<std::uint8_t*>(out.data()));
      if (!step.ok()) fail(fmt::format("cannot decompress: {}", step.status().message()));
      begin += static_cast<std::size_t>(step->bytes_read);
      if (decompressor->IsFinished()) member_open = false;
      if (step->bytes_written > 0) return static_cast<std::size_t>(step->bytes_written);
      if (step->bytes_read == 0 && member_open) fail("cannot decompress: no progress");
    }
  }
};

InputStream::InputStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
InputStream::InputStream(InputStream&&) noexcept = default;
InputStream& InputStream::operator=(InputStream&&) noexcept = default;
InputStream::~InputStream() = default;

InputStream InputStream::open(const fs::path& path) {
  auto state = std::make_unique<State>();
  if (path == "-") {
    state->path = "<stdin>";
    state->descriptor = STDIN_FILENO;
    return InputStream(std::move(state));
  }
  state->path = path;
  state->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (state->descriptor < 0) {
    throw Error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)), "check the path");
  }
  struct stat status {};
  if (::fstat(state->descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    throw Error(fmt::format("cannot read {}: expected a file, found a folder", path.string()));
  }
  const arrow::Compression::type compression = compression_of(path);
  if (compression == arrow::Compression::UNCOMPRESSED) return InputStream(std::move(state));

  auto codec = arrow::util::Codec::Create(compression);
  if (!codec.ok()) throw Error(fmt::format("{}: {}", path.string(), codec.status().message()));
  state->codec = std::move(*codec);
  state->block.resize(kBlockBytes);
  state->start_member();
  return InputStream(std::move(state));
}

std::size_t InputStream::read(std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::span<char> rest = out.subspan(filled);
    const std::size_t got =
        state_->decompressor == nullptr ? state_->read_raw(rest.data(), rest.size()) : state_->decompress(rest);
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

std::uint64_t InputStream::consumed() const {
  return state_->taken;
}

const fs::path& InputStream::path() const {
  return state_->path;
}

}  // namespace crope::formats
