#include "crope/run/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::run {
namespace {

TEST(MetricsLine, HasNumbersByName) {
  const auto line =
      parse_metrics_line(R"({"step":7,"loss":2.5,"lr":null,"grad_norm":"x","val_loss_wiki":3.5,"val_loss_x":null})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->step, 7);
  EXPECT_EQ(line->number("loss"), 2.5);
  EXPECT_FALSE(line->number("val_loss"));
  EXPECT_TRUE(std::isnan(*line->number("lr")));
  EXPECT_TRUE(std::isnan(*line->number("grad_norm")));
  EXPECT_EQ(line->other_losses().at("wiki"), 3.5);
  EXPECT_TRUE(std::isnan(line->other_losses().at("x")));
}

TEST(MetricsLine, IsAnObjectWithAStep) {
  for (const char* text : {"", "3", "[]", "{}", R"({"step":"7"})", R"({"step":7.5})", R"({"step":7)", "rubbish"}) {
    EXPECT_FALSE(parse_metrics_line(text)) << text;
  }
}

TEST(MetricsLine, MayHaveAWholeStepWrittenAsAFloat) {
  EXPECT_EQ(parse_metrics_line(R"({"step":200.0,"loss":1})")->step, 200);
  EXPECT_FALSE(parse_metrics_line(R"({"step":1e300})"));
}

TEST(MetricsLine, MayHavePythonsBareConstants) {
  const auto line =
      parse_metrics_line(R"({"step":7,"loss":NaN,"grad_norm":-Infinity,"val_loss_x":Infinity,"note":"NaN \" NaN"})");
  ASSERT_TRUE(line);
  EXPECT_TRUE(std::isnan(*line->number("loss")));
  EXPECT_TRUE(std::isnan(*line->number("grad_norm")));
  EXPECT_TRUE(std::isnan(line->other_losses().at("x")));
  EXPECT_EQ(line->fields["note"], "NaN \" NaN");
}

TEST(Metrics, SkipsAndCountsDamagedLines) {
  const test::TemporaryFolder folder;
  write_file(folder / "m", "{\"step\":1,\"loss\":3}\nrubbish\n\n{\"step\":2}\n{\"st");
  const Metrics metrics = read_metrics(folder / "m");
  ASSERT_EQ(metrics.lines.size(), 2u);
  EXPECT_EQ(metrics.lines[1].step, 2);
  EXPECT_EQ(metrics.damaged, 2u);
  EXPECT_EQ(metrics.warning(), "skipped 2 damaged lines of metrics.jsonl, the first is line 2");
  EXPECT_EQ(Metrics{}.warning(), "");
  EXPECT_THROW(read_metrics(folder / "absent"), Error);
}

}  // namespace
}  // namespace crope::run
