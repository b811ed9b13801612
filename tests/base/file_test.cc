#include "crope/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "crope/base/error.h"
#include "tests/temporary_folder.h"

namespace crope {
namespace {

namespace fs = std::filesystem;

std::size_t count_entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(File, WritesAndReadsBack) {
  const test::TemporaryFolder folder;
  const std::string contents("a\0b\n", 4);
  write_file(folder / "x", contents);
  EXPECT_EQ(read_file(folder / "x"), contents);
  EXPECT_EQ(count_entries(folder.path()), 1u);
}

TEST(File, ReadRefusesWhatIsMissingTooLargeOrAFolder) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "12345");
  EXPECT_THROW(read_file(folder / "absent"), Error);
  EXPECT_THROW(read_file(folder / "x", 4), Error);
  EXPECT_THROW(read_file(folder.path()), Error);
}

TEST(File, MessagesNameThePathAndHint) {
  try {
    read_file("no/such/file");
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("no/such/file"), std::string::npos);
    EXPECT_FALSE(e.hint().empty());
  }
}

TEST(AtomicFile, WithoutCommitTheOldContentsStay) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("new, but not finished");
  }
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(count_entries(folder.path()), 1u);
}

TEST(AtomicFile, CommitReplaces) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "old");
  AtomicFile file(folder / "x");
  file.write("ne");
  file.write("w");
  file.commit();
  EXPECT_EQ(read_file(folder / "x"), "new");
}

TEST(AtomicFile, AMissingFolderIsAnError) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(AtomicFile(folder / "absent/x"), Error);
}

// /dev/full fails every write with "no space left": the message must say so.
TEST(AtomicFile, AFullDiskIsSaid) {
  const test::TemporaryFolder folder;
  AtomicFile file(folder / "x");
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  // The file's descriptor is the one before: put the full device in its place.
  ASSERT_GE(::dup2(full, full - 1), 0);
  ::close(full);
  try {
    file.write("something");
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(e.hint().find("disk is full"), std::string::npos) << e.what();
  }
}

TEST(AtomicDirectory, AppearsWholeOrNotAtAll) {
  const test::TemporaryFolder folder;
  {
    const AtomicDirectory directory(folder / "out");
    write_file(directory.working_path() / "x", "1");
    EXPECT_FALSE(fs::exists(folder / "out"));
  }
  EXPECT_EQ(count_entries(folder.path()), 0u);

  AtomicDirectory directory(folder / "deep/out/");
  write_file(directory.working_path() / "x", "1");
  directory.commit();
  EXPECT_EQ(read_file(folder / "deep/out/x"), "1");
  EXPECT_EQ(count_entries(folder / "deep"), 1u);
}

TEST(AtomicDirectory, RefusesWhatExists) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "out");
  EXPECT_THROW(AtomicDirectory(folder / "out"), Error);
}

TEST(MappedFile, HoldsTheBytesAndWritesStayPrivate) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "hello");
  const auto file = MappedFile::open(folder / "x");
  ASSERT_EQ(file->bytes().size(), 5u);
  EXPECT_EQ(std::memcmp(file->bytes().data(), "hello", 5), 0);
  file->bytes()[0] = std::byte{'J'};
  EXPECT_EQ(read_file(folder / "x"), "hello");
}

TEST(MappedFile, AnEmptyFileIsEmpty) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "");
  EXPECT_TRUE(MappedFile::open(folder / "x")->bytes().empty());
}

TEST(MappedFile, ReleasedBytesAreReadAgain) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", std::string(100'000, 'q'));
  const auto file = MappedFile::open(folder / "x");
  EXPECT_EQ(file->bytes()[50'000], std::byte{'q'});
  file->release(file->bytes());
  EXPECT_EQ(file->bytes()[50'000], std::byte{'q'});
}

TEST(DirectoryLock, KeepsOthersOutWhileItLives) {
  const test::TemporaryFolder folder;
  {
    const DirectoryLock lock(folder.path(), "works");
    try {
      const DirectoryLock second(folder.path(), "works");
      FAIL() << "two locks of one folder";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("another process works here"), std::string::npos) << e.what();
    }
  }
  const DirectoryLock again(folder.path(), "works");
  EXPECT_THROW(DirectoryLock(folder / "absent", "works"), Error);
}

TEST(MakeFolder, MakesParentsAndNamesWhatIsInTheWay) {
  const test::TemporaryFolder folder;
  make_folder(folder / "a/b");
  make_folder(folder / "a/b");
  EXPECT_TRUE(fs::is_directory(folder / "a/b"));
  write_file(folder / "file", "x");
  try {
    make_folder(folder / "file/c");
    FAIL() << "a folder inside a file";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find((folder / "file/c").string()), std::string::npos) << e.what();
  }
}

TEST(ReplaceSymlink, PointsToTheNewTargetAndLeavesNothingElse) {
  const test::TemporaryFolder folder;
  replace_symlink("one", folder / "link");
  replace_symlink("two", folder / "link");
  EXPECT_EQ(fs::read_symlink(folder / "link"), "two");
  EXPECT_EQ(count_entries(folder.path()), 1u);
  EXPECT_THROW(replace_symlink("one", folder / "absent/link"), Error);
}

TEST(DirectoryLock, IsOnAFileThatCanBeWritten) {
  const test::TemporaryFolder folder;
  const DirectoryLock lock(folder.path(), "works");
  EXPECT_EQ(lock.warning(), "");
  ASSERT_TRUE(fs::is_regular_file(folder / ".lock"));
  bool is_writable = false;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code code;
    if (fs::read_symlink(entry.path(), code) != folder / ".lock") continue;
    const int descriptor = std::stoi(entry.path().filename().string());
    is_writable = (::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDWR;
  }
  EXPECT_TRUE(is_writable) << "NFS refuses an exclusive lock on a descriptor that only reads";
}

TEST(AppendFile, AddsToWhatIsThere) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "one\ntw");
  {
    AppendFile file(folder / "x");
    EXPECT_FALSE(file.ends_with_line());
    file.write("o\n");
    EXPECT_TRUE(file.ends_with_line());
    file.flush();
  }
  EXPECT_EQ(read_file(folder / "x"), "one\ntwo\n");
  EXPECT_TRUE(AppendFile(folder / "new").ends_with_line());
  EXPECT_THROW(AppendFile(folder / "absent/x"), Error);
  EXPECT_THROW(AppendFile("/dev/full").write("x"), Error);
}

// The umask belongs to the whole process: nobody else's files may change while we look at it.
TEST(AtomicFile, TheUmaskHoldsForFilesAndFoldersOfAllThreads) {
  const test::TemporaryFolder folder;
  const mode_t former = ::umask(027);
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const fs::path name = folder / (std::to_string(t) + "_" + std::to_string(i));
        AtomicDirectory directory(name);
        write_file(directory.working_path() / "x", "1");
        directory.commit();
        struct stat status {};
        if (::stat(name.c_str(), &status) != 0 || (status.st_mode & 0777) != 0750) ++wrong;
        if (::stat((name / "x").c_str(), &status) != 0 || (status.st_mode & 0777) != 0640) ++wrong;
      }
    });
  }
  threads.clear();
  ::umask(former);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace crope
