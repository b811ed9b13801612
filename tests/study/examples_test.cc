#include "crope/study/examples.h"

#include <gtest/gtest.h>

#include <map>

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
  // The complex-linear layer has half of rope's parameters, and rope of half the width as many as it.
  std::map<std::string, std::int64_t> parameters;
  for (const Json& run : json["trained"]) {
    if (run["D"] == 16) parameters[run["kind"]] = run["parameters"];
    for (const double accuracy : run["accuracy"]) EXPECT_TRUE(accuracy >= 0 && accuracy <= 1) << accuracy;
  }
  EXPECT_EQ(2 * parameters.at("crope"), parameters.at("rope"));
  EXPECT_EQ(parameters.at("half_rope"), parameters.at("crope"));
  // Absolute positions cannot let a token choose its distance; the rotary forms can.
  EXPECT_LT(json["token_position_interaction"]["absolute"].get<double>(), 1e-6);
  EXPECT_GT(json["token_position_interaction"]["crope"].get<double>(), 0.01);
  EXPECT_LT(json["query_conjugate_linear_share"].get<double>(), 1e-10);
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
