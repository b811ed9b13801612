#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/run_program.h"

namespace crope {
namespace {

class DataCommand : public testing::Test {
 protected:
  // The name of a file in the test's own folder, for a command line.
  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  // A vocabulary of bytes and a few merges.
  std::string make_tokenizer() const {
    write_file(folder_ / "words.txt", "the cat and the hat and the bat and the rat\n");
    const auto result = test::run_program("tokenizer train " + in_folder("words.txt") + " --vocab-size 262 --out " +
                                          in_folder("tokenizer"));
    EXPECT_EQ(result.status, 0) << result.err;
    return in_folder("tokenizer");
  }

  test::TemporaryFolder folder_;
};

TEST_F(DataCommand, PreparesAndInspects) {
  write_file(folder_ / "corpus.jsonl", "{\"body\": \"the cat\"}\n{\"body\": \"the hat\"}\n{\"body\": \"a mat\"}\n");
  const std::string prepare = "data prepare " + in_folder("corpus.jsonl") + " --tokenizer " + make_tokenizer() +
                              " --out " + in_folder("data") + " --val-fraction 0 --text-field body --json";
  const auto prepared = test::run_program(prepare);
  ASSERT_EQ(prepared.status, 0) << prepared.err;
  EXPECT_EQ(parse_json(prepared.out, "prepare")["already_prepared"], false);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "data/train_000000.bin"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "data/dataset.json"));

  const auto again = test::run_program(prepare);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(parse_json(again.out, "prepare")["already_prepared"], true);

  const auto inspected = test::run_program("data inspect " + in_folder("data") + " --samples 2 --json");
  ASSERT_EQ(inspected.status, 0) << inspected.err;
  const Json report = parse_json(inspected.out, "inspect");
  EXPECT_EQ(report["train"]["documents"], 3);
  EXPECT_EQ(report["train"]["bytes"], 7 + 7 + 5);
  EXPECT_EQ(report["val"]["tokens"], 0);
  ASSERT_EQ(report["samples"].size(), 2u);
  EXPECT_NE(report["samples"][0]["text"].get<std::string>().find("the cat"), std::string::npos);
  // A run that was trained on it brings the same tokenizer.
  const auto trained = test::run_program("train --data " + in_folder("data") + " --out " + in_folder("run") +
                                         " --num-layers 1 --d-model 16 --num-heads 2 --d-ff 16 --batch-size 1 "
                                         "--seq-len 4 --steps 1 --warmup-steps 1 --threads 1");
  ASSERT_EQ(trained.status, 0) << trained.err;
  const std::string with_run = "data prepare " + in_folder("corpus.jsonl") + " --tokenizer " + in_folder("run") +
                               " --out " + in_folder("data2") + " --val-fraction 0 --text-field body --json";
  const auto prepared_with_run = test::run_program(with_run);
  ASSERT_EQ(prepared_with_run.status, 0) << prepared_with_run.err;
  EXPECT_EQ(parse_json(prepared_with_run.out, "prepare")["tokenizer_fingerprint"],
            parse_json(prepared.out, "prepare")["tokenizer_fingerprint"]);
  const auto table = test::run_program("data inspect " + in_folder("data"));
  EXPECT_NE(table.out.find("train"), std::string::npos);
}

TEST_F(DataCommand, NamesWhatIsWrongWithASource) {
  write_file(folder_ / "corpus.jsonl", "{\"text\": \"the cat\"}\nnot JSON\n");
  const std::string rest = " --tokenizer " + make_tokenizer() + " --out " + in_folder("data");
  const auto broken = test::run_program("data prepare " + in_folder("corpus.jsonl") + rest);
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("corpus.jsonl"), std::string::npos) << broken.err;
  EXPECT_NE(broken.err.find('2'), std::string::npos) << broken.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data"));
  EXPECT_EQ(test::run_program("data prepare " + in_folder("absent.txt") + rest).status, 1);
  EXPECT_EQ(test::run_program("data prepare " + in_folder("corpus.jsonl") + rest + " --format pdf").status, 2);
  EXPECT_EQ(test::run_program("data prepare " + in_folder("corpus.jsonl") + " --out " + in_folder("data")).status, 2);
  EXPECT_EQ(test::run_program("data inspect " + in_folder("absent")).status, 1);

  const auto skipped =
      test::run_program("data prepare " + in_folder("corpus.jsonl") + rest + " --skip-bad-rows --json");
  ASSERT_EQ(skipped.status, 0) << skipped.err;
  EXPECT_EQ(parse_json(skipped.out, "prepare")["left_out"]["bad_rows"], 1);
}

TEST_F(DataCommand, WritesTheEmbeddedWorld) {
  const std::string sizes = " --documents 20 --hellaswag-items 4 --mmlu-items 4 --gsm8k-items 4 --seed 3";
  const auto first = test::run_program("data synth --json --out " + in_folder("a") + sizes);
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(parse_json(first.out, "synth").is_object());
  ASSERT_EQ(test::run_program("data synth --out " + in_folder("b") + sizes).status, 0);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "a")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const auto twin = folder_ / "b" / std::filesystem::relative(entry.path(), folder_ / "a");
    EXPECT_EQ(read_file(entry.path()), read_file(twin)) << twin;
  }
  EXPECT_GE(files, 4u);
  EXPECT_EQ(test::run_program("data synth --out " + in_folder("a") + sizes).status, 1);
  EXPECT_EQ(test::run_program("data synth --seed -1 --out " + in_folder("c")).status, 2);
}

TEST_F(DataCommand, SuggestsTheNearestName) {
  const auto result = test::run_program("data prepar");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("prepare"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace crope
