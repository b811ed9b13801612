#include "crope/study/run_report.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

using test::make_run;

void add_checkpoint(const std::filesystem::path& run, model::Variant variant) {
  model::save_model(model::make_random_transformer({.vocab_size = 512,
                                                    .num_layers = 2,
                                                    .num_heads = 2,
                                                    .d_model = 32,
                                                    .d_ff = 32,
                                                    .max_seq_len = 64,
                                                    .variant = variant}),
                    run / "checkpoints/step_00000600");
  std::filesystem::create_directory_symlink("checkpoints/step_00000600", run / "latest");
}

TEST(RunReport, HasEverySectionAndTheRunsOwnNumbers) {
  const test::TemporaryFolder folder;
  const auto rope = make_run(folder / "rope", {.variant = "rope"});
  const auto crope = make_run(folder / "crope_all", {.variant = "crope_all", .final_loss = 3.1});
  add_checkpoint(rope, model::Variant::rope);
  add_checkpoint(crope, model::Variant::crope_all);
  Log silent(nullptr);
  const auto page = write_report({rope, crope}, folder / "out", {.examples = false}, silent);
  EXPECT_EQ(page, folder / "out/index.html");
  const std::string html = read_file(page);
  for (const char* id :
       {"overview", "parameters", "loss", "downstream", "throughput", "function-space", "plane", "configuration"}) {
    EXPECT_NE(html.find(std::string("<section id=\"") + id + "\""), std::string::npos) << id;
  }
  EXPECT_NE(html.find("0.328 ± 0.009"), std::string::npos);  // acc_norm of results.json, 1.96 standard errors
  EXPECT_NE(html.find("9.03k"), std::string::npos);          // the median rate of metrics.jsonl
  EXPECT_NE(html.find("crope train --data data --out crope_all"), std::string::npos);
  for (const char* name :
       {"nparams_rope", "param_counts", "train_loss", "val_loss", "val_loss_difference", "downstream_hellaswag",
        "downstream_mmlu", "downstream_gsm8k", "throughput", "energies_run0", "fspace_sigma2"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("out/") + name + ".svg"))) << name;
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("out/") + name + ".png"))) << name;
  }
  for (const char* outside : {"src=\"http", "href=\"http", "@import"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

TEST(RunReport, MissingPartsAreLeftOutWithAWord) {
  const test::TemporaryFolder folder;
  const auto run = make_run(folder / "a", {.validates = false, .evaluated = false});
  Log silent(nullptr);
  const std::string html = read_file(write_report({run}, folder / "out", {.examples = false}, silent));
  EXPECT_EQ(html.find("<section id=\"downstream\""), std::string::npos);
  EXPECT_EQ(html.find("<section id=\"function-space\""), std::string::npos);
  EXPECT_NE(html.find("there is no results.json"), std::string::npos);
  EXPECT_NE(html.find("no validation losses"), std::string::npos);
}

TEST(RunReport, WhatSeveralRunsLackIsSaidOnce) {
  const test::TemporaryFolder folder;
  const auto first = make_run(folder / "a", {.evaluated = false});
  const auto second = make_run(folder / "b", {.evaluated = false});
  Log silent(nullptr);
  const std::string html = read_file(write_report({first, second}, folder / "out", {.examples = false}, silent));
  const std::string note = "there is no results.json";
  const std::size_t place = html.find(note);
  ASSERT_NE(place, std::string::npos);
  EXPECT_EQ(html.find(note, place + 1), std::string::npos);
  const std::string before = html.substr(html.rfind("<p>", place), place - html.rfind("<p>", place));
  for (const auto& run : {first, second}) EXPECT_NE(before.find(run.string()), std::string::npos) << before;
}

TEST(RunReport, TheCommandOfAStudyStandsOnce) {
  const test::TemporaryFolder folder;
  const auto first = make_run(folder / "a", {});
  const auto second = make_run(folder / "b", {});
  const std::string command = "crope quickstart --out study";
  for (const auto& run : {first, second}) {
    Json json = read_json(run / "run.json");
    json["command"] = command;
    write_json(run / "run.json", json);
  }
  Log silent(nullptr);
  const std::string html = read_file(write_report({first, second}, folder / "out", {.examples = false}, silent));
  const std::string block = html.substr(html.find("<pre", html.find("<section id=\"configuration\"")));
  const std::string shown = block.substr(0, block.find("</pre>"));
  const std::size_t place = shown.find(command);
  ASSERT_NE(place, std::string::npos) << shown;
  EXPECT_EQ(shown.find(command, place + 1), std::string::npos) << shown;
}

TEST(RunReport, AStudyWithoutCheckpointsHasEveryOtherFigure) {
  const test::TemporaryFolder folder;
  const auto study = test::make_study(folder / "study", {"rope", "crope_all", "half_rope_all"}, 3);
  Log silent(nullptr);
  const std::string html = read_file(write_report({study}, folder / "out", {.examples = false}, silent));
  EXPECT_NE(html.find("9 runs of 3 variants, up to 3 seeds each: rope, crope_all, half_rope_all."), std::string::npos);
  EXPECT_NE(html.find("<summary>All 9 runs</summary>"), std::string::npos);
  EXPECT_NE(html.find("lowest to the highest seed"), std::string::npos);
  EXPECT_NE(html.find("95% intervals by Student&#39;s t"), std::string::npos);
  EXPECT_EQ(html.find("<section id=\"function-space\""), std::string::npos);
  for (const char* name : {"param_counts", "train_loss", "val_loss", "val_loss_difference", "downstream_hellaswag",
                           "downstream_mmlu", "downstream_gsm8k", "throughput"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("out/") + name + ".svg"))) << name;
  }
  const std::string difference = read_file(folder / "out/val_loss_difference.svg");
  EXPECT_NE(difference.find("+0.0200"), std::string::npos);
  EXPECT_EQ(difference.find("±"), std::string::npos) << "equal differences of all seeds have no interval";
  EXPECT_NE(difference.find("Mean over 3 seeds"), std::string::npos);
}

TEST(RunReport, FiguresAloneComeWithoutAPage) {
  const test::TemporaryFolder folder;
  const auto study = test::make_study(folder / "study", {"rope", "crope_all"}, 2);
  Log silent(nullptr);
  EXPECT_EQ(write_report({study}, folder / "out", {.examples = false, .figures_only = true}, silent), folder / "out");
  EXPECT_FALSE(std::filesystem::exists(folder / "out/index.html"));
  EXPECT_TRUE(std::filesystem::exists(folder / "out/val_loss_difference.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder / "out/val_loss_difference.png"));
}

TEST(RunReport, BadRunsAreRefused) {
  const test::TemporaryFolder folder;
  Log silent(nullptr);
  EXPECT_THROW(write_report({}, folder / "out", {}, silent), UsageError);
  EXPECT_THROW(write_report({folder / "absent"}, folder / "out", {}, silent), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace crope::study
