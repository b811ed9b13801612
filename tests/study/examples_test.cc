#include "crope/study/examples.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

ExampleOptions small_options() {
  return {
      .heads = {.head = {.D = 64, .T = 16},
                .widths = {16, 32},
                .lengths = {8, 16},
                .first_positions = {0, 512},
                .picture_length = 8},
      .toy =
          {.T = 8, .steps = 2, .evaluate_every = 1, .evaluation_rows = 4, .seeds = {0, 1}, .first_positions = {0, 64}},
      .toy_widths = {8, 16}};
}

TEST(Examples, JsonHasEverySampleAndRun) {
  Log silent(nullptr);
  const Json json = examples_to_json(make_examples(small_options(), silent));
  EXPECT_EQ(json["samples"].size(), 32u);
  EXPECT_EQ(json["by_width"].size(), 32u);
  EXPECT_EQ(json["trained"].size(), 5u * 2 * 2);
  EXPECT_EQ(json["trained"][0]["accuracy"].size(), 3u);
  EXPECT_EQ(json["token_position_interaction"].size(), 4u);
  EXPECT_EQ(json["samples"][0]["mask"], "bidirectional");
  ExampleOptions untrained = small_options();
  untrained.train = false;
  EXPECT_TRUE(make_examples(untrained, silent).trained.empty());
}

TEST(Examples, APageAndItsFigures) {
  const test::TemporaryFolder folder;
  Log silent(nullptr);
  const Examples examples = make_examples(small_options(), silent);
  write_examples(examples, folder / "new/out");
  const std::string html = read_file(folder / "new/out/index.html");
  EXPECT_NE(html.find("id=\"heads\""), std::string::npos);
  EXPECT_NE(html.find("id=\"trained\""), std::string::npos);
  for (const char* name :
       {"heads_token_dependent_position_crope", "heads_width_same_token", "toy_steps_16", "toy_parameters"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("new/out/") + name + ".svg"))) << name;
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("new/out/") + name + ".png"))) << name;
  }
  EXPECT_EQ(read_json(folder / "new/out/examples.json"), examples_to_json(examples));
}

}  // namespace
}  // namespace crope::study
