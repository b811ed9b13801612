#include "crope/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/rounding.h"

namespace crope {
namespace fs = std::filesystem;
namespace {

constexpr int kLockAttempts = 8;
constexpr std::size_t kTemporaryLetters = 6;
constexpr const char* kLockFile = ".lock";

// Turns the errno of a failed call into a message that says what to do.
[[noreturn]] void throw_system_error(std::string_view action, const fs::path& path, int code) {
  const char* hint = "";
  switch (code) {
    case ENOENT:
      hint = "check the path";
      break;
    case EACCES:
    case EPERM:
      hint = "check the permissions of the file and of its folder";
      break;
    case EROFS:
      hint = "the file system is read-only: choose another place";
      break;
    case ENOSPC:
    case EDQUOT:
      hint = "the disk is full: free some space or choose another place";
      break;
    case EMFILE:
    case ENFILE:
      hint = "too many open files: raise the limit (ulimit -n)";
      break;
    default:
      break;
  }
  throw Error(fmt::format("{} {}: {}", action, path.string(), std::strerror(code)), hint);
}

// Closes the descriptor on every path out of a scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

Descriptor open_for_reading(const fs::path& path, struct stat* status) {
  Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (descriptor.value < 0) throw_system_error("cannot open", path, errno);
  if (::fstat(descriptor.value, status) != 0) throw_system_error("cannot examine", path, errno);
  if (!S_ISREG(status->st_mode)) {
    throw Error(fmt::format("cannot read {}: expected a file, found {}", path.string(),
                            S_ISDIR(status->st_mode) ? "a folder" : "something that is neither file nor folder"));
  }
  return Descriptor{std::exchange(descriptor.value, -1)};
}

// Makes a rename in `folder` survive a power cut. Where a file system cannot flush folders, or we may write to a folder
// and not read it, there is nothing to do.
void flush_directory(const fs::path& folder) {
  Descriptor descriptor{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.value < 0 && errno == EACCES) return;
  if (descriptor.value < 0) throw_system_error("cannot open", folder, errno);
  if (::fsync(descriptor.value) != 0 && errno != EINVAL) throw_system_error("cannot flush", folder, errno);
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// What the names of all temporary files of `path` begin with. It starts with a dot, so that no pattern of ours matches.
std::string temporary_stem(const fs::path& path) {
  return fmt::format(".{}.", path.filename().string());
}

// Calls create(name), with a name beside `path`, until it does not fail with EEXIST; gives its result and the name.
// Unlike mkostemp and mkdtemp this leaves the permissions to the caller, and so to the umask.
template <typename Create>
std::pair<int, fs::path> create_temporary(const fs::path& path, const Create& create) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  while (true) {
    unsigned char noise[kTemporaryLetters];
    if (::getrandom(noise, sizeof(noise), 0) != sizeof(noise)) throw_system_error("cannot name", path, errno);
    std::string name = temporary_stem(path);
    for (const unsigned char each : noise) name += kLetters[each % kLetters.size()];
    const fs::path temporary = parent_of(path) / name;
    const int result = create(temporary);
    if (result >= 0) return {result, temporary};
    if (errno != EEXIST && errno != EINTR) throw_system_error("cannot create", path, errno);
  }
}

void write_all(int descriptor, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error("cannot write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// A descriptor that locks `folder`, or -1 if another process has it locked or it is gone.
int lock_directory(const fs::path& folder) {
  Descriptor descriptor{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (descriptor.value < 0 || ::flock(descriptor.value, LOCK_EX | LOCK_NB) != 0) return -1;
  struct stat status {};
  if (::fstat(descriptor.value, &status) != 0 || status.st_nlink == 0) return -1;
  return std::exchange(descriptor.value, -1);
}

// Removes the temporary folders of `path` that no living process has locked.
void remove_leftovers(const fs::path& path) {
  const std::string stem = temporary_stem(path);
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(parent_of(path), code)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != stem.size() + kTemporaryLetters || !name.starts_with(stem) || !entry.is_directory(code))
      continue;
    const Descriptor lock{lock_directory(entry.path())};
    if (lock.value >= 0) fs::remove_all(entry.path(), code);
  }
}

}  // namespace

MappedFile::MappedFile(fs::path path, std::byte* data, std::size_t size)
    : path_(std::move(path)), data_(data), size_(size) {}

std::shared_ptr<MappedFile> MappedFile::open(const fs::path& path) {
  struct stat status {};
  const Descriptor descriptor = open_for_reading(path, &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile(path, nullptr, 0));
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor.value, 0);
  if (data == MAP_FAILED) throw_system_error("cannot map", path, errno);
  return std::shared_ptr<MappedFile>(new MappedFile(path, static_cast<std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void MappedFile::release(std::span<const std::byte> part) const {
  // Only whole pages inside the part: its neighbours may be in use.
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = round_up(reinterpret_cast<std::uintptr_t>(part.data()), page);
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::tie(descriptor_, temporary_) = create_temporary(
      path_, [](const fs::path& name) { return ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_all(descriptor_, bytes, path_);
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::rewrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error("cannot write", path_, errno);
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw_system_error("cannot flush", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_system_error("cannot replace", path_, errno);
  ::close(std::exchange(descriptor_, -1));
  flush_directory(parent_of(path_));
}

AtomicDirectory::AtomicDirectory(fs::path path) : path_(std::move(path)) {
  if (!path_.has_filename()) path_ = path_.parent_path();
  std::error_code code;
  if (fs::exists(fs::symlink_status(path_, code))) {
    throw Error(fmt::format("{} exists already", path_.string()), "give another name, or remove it first");
  }
  make_folder(parent_of(path_));
  remove_leftovers(path_);
  // Another process may take the new folder for a leftover in the moment before it is locked: then make one more.
  // Where locks are not to be had the last one is used without, and nobody removes it either.
  for (int attempt = 0; lock_ < 0 && attempt < kLockAttempts; ++attempt) {
    if (!temporary_.empty()) ::rmdir(temporary_.c_str());
    temporary_ = create_temporary(path_, [](const fs::path& name) { return ::mkdir(name.c_str(), 0777); }).second;
    lock_ = lock_directory(temporary_);
  }
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void AtomicDirectory::commit() {
  flush_directory(temporary_);
  // RENAME_NOREPLACE is not on every file system; a plain rename refuses a folder that is not empty.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_system_error("cannot create", path_, errno);
  temporary_.clear();
  flush_directory(parent_of(path_));
}

AppendFile::AppendFile(fs::path path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw_system_error("cannot write", path_, errno);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::write(std::string_view text) {
  write_all(descriptor_, std::as_bytes(std::span(text.data(), text.size())), path_);
}

void AppendFile::flush() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) throw_system_error("cannot flush", path_, errno);
}

bool AppendFile::ends_with_line() const {
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  char last = '\n';
  return size <= 0 || ::pread(descriptor_, &last, 1, size - 1) != 1 || last == '\n';
}

// The descriptor must be one for writing: NFS turns the lock into one on the bytes of the file, which reading is not
// enough for.
DirectoryLock::DirectoryLock(const fs::path& folder, std::string_view what_it_does)
    : descriptor_(::open((folder / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw_system_error("cannot write", folder / kLockFile, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) {
    warning_ = fmt::format("{} cannot be locked ({}): a second process could write there at the same time",
                           folder.string(), std::strerror(errno));
    return;
  }
  ::close(descriptor_);
  throw Error(fmt::format("{}: another process {} here", folder.string(), what_it_does),
              "wait for it, stop it, or give another folder");
}

DirectoryLock::~DirectoryLock() {
  ::close(descriptor_);
}

void make_folder(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) throw_system_error("cannot create the folder", path, code.value());
}

void replace_symlink(const fs::path& target, const fs::path& link) {
  const fs::path temporary = parent_of(link) / fmt::format(".{}.{}", link.filename().string(), ::getpid());
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) throw_system_error("cannot create", link, errno);
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    throw_system_error("cannot replace", link, code);
  }
  flush_directory(parent_of(link));
}

std::string read_file(const fs::path& path, std::uint64_t limit) {
  struct stat status {};
  const Descriptor descriptor = open_for_reading(path, &status);
  if (static_cast<std::uint64_t>(status.st_size) > limit) {
    throw Error(fmt::format("{} has {} bytes; at most {} were expected", path.string(), status.st_size, limit));
  }
  std::string contents(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (filled < contents.size()) {
    const ssize_t got = ::read(descriptor.value, contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error("cannot read", path, errno);
    if (got == 0) break;  // the file became shorter in the meantime
    filled += static_cast<std::size_t>(got);
  }
  contents.resize(filled);
  return contents;
}

void write_file(const fs::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

}  // namespace crope
