// A run directory that version 0.1 wrote: two of four steps, its data beside it.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "crope/base/json.h"
#include "crope/formats/jsonl.h"
#include "tests/run_program.h"

namespace crope {
namespace {

namespace fs = std::filesystem;
using test::run_program;

class Version01 : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy(fs::path(CROPE_SOURCE_DIR) / "tests/data/run_of_version_0_1", folder_.path(), fs::copy_options::recursive);
    fs::create_directory_symlink("checkpoints/step_00000002", run() / "latest");
  }

  fs::path run() const { return folder_ / "run"; }

  test::TemporaryFolder folder_;
};

// What version 0.1 itself computed when it trained all four steps (AVX-512, one thread).
TEST_F(Version01, ResumesWithTheSameLosses) {
  const auto result = run_program("train --data " + (folder_ / "data").string() + " --out " + run().string() +
                                  " --steps 4 --threads 1");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("has no hash of its own: it was written by version 0.1"), std::string::npos) << result.err;
  std::map<std::int64_t, double> losses;
  double val_loss = 0;
  formats::LineReader lines(formats::InputStream::open((run() / "metrics.jsonl").string()));
  while (const auto line = lines.next()) {
    const Json row = parse_json(*line, "metrics.jsonl");
    if (row.contains("loss")) losses[row["step"]] = row["loss"];
    if (row.contains("val_loss")) val_loss = row["val_loss"];
  }
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_NEAR(losses[1], 5.716857433319092, 1e-5);
  EXPECT_NEAR(losses[3], 5.678406715393066, 1e-5);
  EXPECT_NEAR(losses[4], 5.643877983093262, 1e-5);
  EXPECT_NEAR(val_loss, 5.643688678741455, 1e-5);
  EXPECT_EQ(fs::read_symlink(run() / "latest"), "checkpoints/step_00000004");
}

TEST_F(Version01, IsScoredAndReported) {
  const auto score = run_program("score " + run().string() + " --ids 1,2,3 --json");
  ASSERT_EQ(score.status, 0) << score.err;
  EXPECT_EQ(parse_json(score.out, "score")["logprobs"].size(), 3u);
  const auto info = run_program("info " + run().string() + " --json");
  ASSERT_EQ(info.status, 0) << info.err;
  const auto report = run_program("report " + run().string() + " --out " + (folder_ / "report").string());
  ASSERT_EQ(report.status, 0) << report.err;
  EXPECT_TRUE(fs::exists(folder_ / "report" / "index.html"));
}

}  // namespace
}  // namespace crope
