// Files: mapped for reading, and written so that a reader sees either the old contents or the new, never a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace crope {

// A whole file in memory. Writable by the process, but writes stay private to it and never reach the file.
// Thread-compatible. The bytes live as long as the object.
class MappedFile {
 public:
  // Throws Error if the file cannot be opened, is not a regular file, or cannot be mapped.
  static std::shared_ptr<MappedFile> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  // Gives the memory behind `part` back to the system; it is read from the file again when next touched.
  // REQUIRES: the process has not written to `part`.
  void release(std::span<const std::byte> part) const;

 private:
  MappedFile(std::filesystem::path path, std::byte* data, std::size_t size);

  std::filesystem::path path_;
  std::byte* data_;
  std::size_t size_;
};

// A file that appears under its name, complete and flushed to disk, when commit() returns. Without commit() the
// destructor removes every trace of it. The temporary file is in the same folder.
class AtomicFile {
 public:
  // Throws Error if the folder does not exist or cannot be written to.
  explicit AtomicFile(std::filesystem::path path);

  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Throws Error on a full disk or any other failure.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  // Overwrites bytes already written: a header whose counts are known only at the end.
  void rewrite(std::uint64_t offset, std::span<const std::byte> bytes);

  // Replaces the file of that name, if there is one. Throws Error if that fails, or cannot be promised to survive a
  // power cut; the file of that name is then the old one or the new one, whole.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_;
};

// A folder that appears under its name with all its files when commit() returns; removed by the destructor otherwise.
// The temporary folder is locked while its process lives: what a killed one left is removed by the next of that name.
class AtomicDirectory {
 public:
  // Throws Error if `path` exists or its parent cannot be written to. Creates missing parents.
  explicit AtomicDirectory(std::filesystem::path path);

  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;
  ~AtomicDirectory();

  // Where to write the files until commit().
  const std::filesystem::path& working_path() const { return temporary_; }

  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int lock_ = -1;
};

// A file that lines are added to as they come. A killed process leaves at most its last line cut off.
class AppendFile {
 public:
  // Makes the file if there is none. Throws Error if it cannot be written.
  explicit AppendFile(std::filesystem::path path);

  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();

  // The text has left the process when this returns. Throws Error on a full disk.
  void write(std::string_view text);

  // Returns when everything written so far survives a power cut. Throws Error if the system cannot promise it.
  void flush();

  // Whether the last line, if there is one, has its end.
  bool ends_with_line() const;

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// Locks a folder, also against other machines, until the process or the object ends. It is an advisory lock on
// the file .lock there, which stays.
class DirectoryLock {
 public:
  // Throws Error if another process holds it, saying `what_it_does` there ("trains").
  DirectoryLock(const std::filesystem::path& folder, std::string_view what_it_does);

  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

  // Empty, or why the folder is not locked (the file system has no locks).
  const std::string& warning() const { return warning_; }

 private:
  int descriptor_;
  std::string warning_;
};

// Makes the folder, and those above it that are missing. Throws Error if it cannot be made.
void make_folder(const std::filesystem::path& path);

// Makes `link` a symbolic link to `target`, in place of what link it was before: a reader sees one or the other.
void replace_symlink(const std::filesystem::path& target, const std::filesystem::path& link);

// The contents of a file of at most `limit` bytes. Throws Error otherwise.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 30);

// Writes through AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace crope
