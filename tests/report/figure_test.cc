#include "crope/report/figure.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::report {
namespace {

Figure small_figure() {
  return {.name = "small",
          .width = 200,
          .height = 150,
          .commands = data_block("d", {{0, 1}, {1, 3}}) + "plot $d using 1:2 with lines lw 2 " +
                      line_color(Color::blue) + " title " + gnuplot_text("it's <b>"),
          .alt = "a line \"up\""};
}

TEST(Figure, IsDrawnAsSvgAndPng) {
  const test::TemporaryFolder folder;
  const DrawnFigure drawn = draw(small_figure(), folder.path());
  EXPECT_TRUE(drawn.svg.starts_with("<svg role=\"img\" aria-label=\"a line &quot;up&quot;\""))
      << drawn.svg.substr(0, 100);
  EXPECT_NE(drawn.svg.find("var(--fig-blue,#0072b2)"), std::string::npos);
  EXPECT_EQ(drawn.svg.find("rgb(  0, 114, 178)"), std::string::npos);
  EXPECT_EQ(drawn.svg.find("<b>"), std::string::npos);
  EXPECT_NE(read_file(folder / "small.svg").find("prefers-color-scheme"), std::string::npos);
  EXPECT_TRUE(read_file(folder / "small.png").starts_with("\x89PNG"));
}

TEST(Figure, BadCommandsAreAnErrorWithGnuplotsWords) {
  const test::TemporaryFolder folder;
  Figure figure = small_figure();
  figure.commands = "plot nonsense(";
  try {
    draw(figure, folder.path());
    FAIL() << "drawn";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("figure small: gnuplot failed"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  figure = small_figure();
  figure.name = "../up";
  EXPECT_THROW(draw(figure, folder.path()), Error);
}

TEST(Figure, WithoutGnuplotTheHintSaysHowToGetIt) {
  const test::TemporaryFolder folder;
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", folder.path().c_str(), 1);
  try {
    draw(small_figure(), folder.path());
    ADD_FAILURE() << "drawn";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "gnuplot was not found in PATH");
    EXPECT_NE(error.hint().find("gnuplot-nox"), std::string::npos);
  }
  ::setenv("PATH", path.c_str(), 1);
}

TEST(Figure, HostileTextStandsForItself) {
  EXPECT_EQ(gnuplot_text("a'b"), "'a''b'");
  EXPECT_EQ(gnuplot_text("a\nb"), "'a b'");
  const test::TemporaryFolder folder;
  Figure figure = small_figure();
  const std::string attack = "`touch " + (folder / "broken").string() + "` \" @PATH '";
  figure.commands = "set title " + gnuplot_text(attack) + "\nplot x";
  const DrawnFigure drawn = draw(figure, folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder / "broken"));
  EXPECT_NE(drawn.svg.find("`touch"), std::string::npos);
}

}  // namespace
}  // namespace crope::report
