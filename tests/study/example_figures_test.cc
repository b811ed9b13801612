#include "crope/study/example_figures.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

using analysis::ToyKind;
using analysis::ToyRun;

ToyRun learned(ToyKind kind, std::int64_t parameters, std::uint64_t seed, double accuracy) {
  return {.kind = kind,
          .D = 16,
          .seed = seed,
          .parameters = parameters,
          .steps = {0, 10},
          .accuracy = {0.125, accuracy},
          .moved_accuracy = {accuracy, accuracy / 2}};
}

const report::Table& table_of(const report::Section& section) {
  for (const report::Block& block : section.blocks) {
    if (const auto* table = std::get_if<report::Table>(&block)) return *table;
  }
  throw std::logic_error("no table");
}

TEST(ExampleFigures, TheTableHasMeansAndExtremesOverSeeds) {
  const test::TemporaryFolder folder;
  const std::vector<ToyRun> runs = {learned(ToyKind::rope, 768, 0, 0.9), learned(ToyKind::rope, 768, 1, 1.0),
                                    learned(ToyKind::crope, 384, 0, 0.8)};
  const report::Section section =
      trained_section(runs, {.steps = 10, .seeds = {0, 1}, .first_positions = {0, 64}}, folder.path());
  EXPECT_EQ(section.id, "trained");
  const report::Table& table = table_of(section);
  EXPECT_EQ(table.columns.back(), "from 64");
  ASSERT_EQ(table.rows.size(), 2u);
  const std::vector<std::string> rope = {"16", "768", "0.950", "0.900 – 1.000", "0.475"};
  EXPECT_EQ(std::vector<std::string>(table.rows[0].begin() + 1, table.rows[0].end()), rope);
  EXPECT_EQ(table.rows[1][2], "384");
  EXPECT_TRUE(std::filesystem::exists(folder / "toy_parameters.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder / "toy_steps_16.svg"));
}

TEST(ExampleFigures, TheHeadsSayHowManyRowsAreRight) {
  const test::TemporaryFolder folder;
  Log silent(nullptr);
  const analysis::HeadStudy study = analysis::study_heads(
      {.head = {.D = 64, .T = 16}, .widths = {16, 32}, .lengths = {8, 16}, .first_positions = {0}, .picture_length = 8},
      silent);
  const report::Section section = head_section(study, folder.path());
  std::string prose;
  for (const report::Block& block : section.blocks) {
    if (const auto* text = std::get_if<report::Prose>(&block)) prose += text->text;
  }
  const auto& printed = study.as_printed;
  EXPECT_NE(prose.find(std::to_string(printed.rows_right) + " of " + std::to_string(printed.rows) + " rows are right"),
            std::string::npos);
  EXPECT_NE(prose.find("model of width 64"), std::string::npos);
  // One cell of the picture for each pair of positions.
  const std::string picture = read_file(folder / "heads_token_dependent_position_crope.svg");
  EXPECT_EQ(study.pictures.front().weights.size(), 8u);
  EXPECT_NE(picture.find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace crope::study
