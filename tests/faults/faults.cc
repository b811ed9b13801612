// A library to preload (LD_PRELOAD) that lets the n-th system call of a kind fail, or kills the process there.
//
//   CROPE_FAULT        open | write | fsync | rename | lock | unlink | mmap | malloc
//   CROPE_FAULT_AT     which of them, from 1; 0 counts only
//   CROPE_FAULT_KIND   once | on (that one and all after it) | kill
//   CROPE_FAULT_UNDER  only files below this folder count
//   CROPE_FAULT_COUNT  a file for the number of calls that were counted
//
// A write that fails has written half of its bytes. Allocations count from the first file below the folder on, and
// only large ones: what fails before is not ours, and small ones end any program.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

constexpr size_t kLargeBlock = 65536;

std::atomic<long> counted = 0;
std::atomic<bool> has_begun = false;

const char* setting(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

void write_count(long count) {
  const char* file = setting("CROPE_FAULT_COUNT");
  if (*file == '\0') return;
  char text[32];
  const int length = snprintf(text, sizeof(text), "%ld\n", count);
  const long descriptor = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (descriptor < 0) return;
  syscall(SYS_write, descriptor, text, length);
  syscall(SYS_close, descriptor);
}

bool is_below(const char* path) {
  const char* folder = setting("CROPE_FAULT_UNDER");
  return *folder != '\0' && strncmp(path, folder, strlen(folder)) == 0;
}

bool is_below(int descriptor) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return is_below(path);
}

enum class Verdict { pass, fail, kill };

// Counts a call of `operation`. Keeps errno.
Verdict judge(const char* operation) {
  if (strcmp(setting("CROPE_FAULT"), operation) != 0) return Verdict::pass;
  const long now = ++counted;
  const long at = atol(setting("CROPE_FAULT_AT"));
  const int code = errno;
  write_count(now);
  errno = code;
  if (at == 0 || now < at) return Verdict::pass;
  if (strcmp(setting("CROPE_FAULT_KIND"), "kill") == 0) return Verdict::kill;
  return now == at || strcmp(setting("CROPE_FAULT_KIND"), "on") == 0 ? Verdict::fail : Verdict::pass;
}

// Whether the call fails, with `code` in errno.
bool fails(const char* operation, int code) {
  const Verdict verdict = judge(operation);
  if (verdict == Verdict::kill) raise(SIGKILL);
  if (verdict == Verdict::fail) errno = code;
  return verdict == Verdict::fail;
}

// Half of the bytes are written by `put` before a write fails.
template <typename Put>
ssize_t fail_write(Verdict verdict, size_t count, const Put& put) {
  if (count > 1) put(count / 2);
  if (verdict == Verdict::kill) raise(SIGKILL);
  errno = ENOSPC;
  return -1;
}

bool allocation_fails(size_t size) {
  return has_begun.load(std::memory_order_relaxed) && size >= kLargeBlock && fails("malloc", ENOMEM);
}

bool open_fails(const char* path) {
  if (!is_below(path)) return false;
  has_begun = true;
  return fails("open", EMFILE);
}

int open_or_fail(const char* path, int flags, va_list& rest) {
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  if (open_fails(path)) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int descriptor = open_or_fail(path, flags, rest);
  va_end(rest);
  return descriptor;
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int descriptor = open_or_fail(path, flags, rest);
  va_end(rest);
  return descriptor;
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const auto put = [&](size_t size) { return syscall(SYS_write, descriptor, bytes, size); };
  if (!is_below(descriptor)) return put(count);
  const Verdict verdict = judge("write");
  return verdict == Verdict::pass ? put(count) : fail_write(verdict, count, put);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  const auto put = [&](size_t size) { return syscall(SYS_pwrite64, descriptor, bytes, size, offset); };
  if (!is_below(descriptor)) return put(count);
  const Verdict verdict = judge("write");
  return verdict == Verdict::pass ? put(count) : fail_write(verdict, count, put);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}

int fsync(int descriptor) {
  if (is_below(descriptor) && fails("fsync", EIO)) return -1;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

int rename(const char* from, const char* to) noexcept {
  if (is_below(to) && fails("rename", EIO)) return -1;
  return static_cast<int>(syscall(SYS_rename, from, to));
}

int flock(int descriptor, int operation) noexcept {
  if (is_below(descriptor) && fails("lock", ENOLCK)) return -1;
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

int unlink(const char* path) noexcept {
  if (is_below(path) && fails("unlink", EIO)) return -1;
  return static_cast<int>(syscall(SYS_unlink, path));
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  const bool counts = folder == AT_FDCWD ? is_below(path) : is_below(folder);
  if (counts && fails("unlink", EIO)) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}

int rmdir(const char* path) noexcept {
  if (is_below(path) && fails("unlink", EIO)) return -1;
  return static_cast<int>(syscall(SYS_rmdir, path));
}

void* mmap(void* address, size_t length, int protection, int flags, int descriptor, off_t offset) noexcept {
  if (descriptor >= 0 && is_below(descriptor) && fails("mmap", ENOMEM)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, descriptor, offset));
}

void* mmap64(void* address, size_t length, int protection, int flags, int descriptor, off64_t offset) noexcept {
  return mmap(address, length, protection, flags, descriptor, offset);
}

void* malloc(size_t size) noexcept {
  return allocation_fails(size) ? nullptr : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) noexcept {
  return allocation_fails(count * size) ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) noexcept {
  return allocation_fails(size) ? nullptr : __libc_realloc(block, size);
}

int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  if (allocation_fails(size)) return ENOMEM;
  *block = __libc_memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return allocation_fails(size) ? nullptr : __libc_memalign(alignment, size);
}

}  // extern "C"
