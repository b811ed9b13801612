// crope train as a script sees it: files, keys, exit codes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <numeric>
#include <set>
#include <sstream>
#include <vector>

#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/formats/token_shard.h"
#include "tests/run_program.h"

namespace crope {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;

class TrainCommand : public testing::Test {
 protected:
  // Shards as another program leaves them: no dataset.json, other names, a row across their border.
  void SetUp() override {
    fs::create_directories(folder_ / "data");
    std::vector<std::int32_t> tokens(200);
    std::iota(tokens.begin(), tokens.end(), 0);
    write_shard("edu_fineweb_train_000001.bin", std::span(tokens).first(70));
    write_shard("edu_fineweb_train_000002.bin", std::span(tokens).subspan(70));
    write_shard("edu_fineweb_val_000000.bin", std::span(tokens).first(40));
  }

  void write_shard(const std::string& name, std::span<const std::int32_t> tokens) {
    formats::TokenShardWriter writer(folder_ / ("data/" + name), formats::TokenWidth::u16);
    writer.append(tokens);
    writer.commit();
  }

  ProgramResult train(const std::string& more) const {
    return test::run_program("train --out " + run().string() + " --data " + (folder_ / "data").string() +
                             " --variant crope_all --num-layers 1 --d-model 16 --num-heads 2 --d-ff 16 --vocab-size 256"
                             " --batch-size 2 --seq-len 8 --lr 1e-3 --min-lr 1e-4 --warmup-steps 2"
                             " --data-order sequential --threads 1 --json " +
                             more);
  }

  fs::path run() const { return folder_ / "run"; }

  std::vector<Json> metrics() const {
    std::vector<Json> lines;
    std::istringstream file(read_file(run() / "metrics.jsonl"));
    for (std::string line; std::getline(file, line);) lines.push_back(parse_json(line, "metrics.jsonl"));
    return lines;
  }

  test::TemporaryFolder folder_;
};

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

TEST_F(TrainCommand, LeavesWhatScriptsRelyOn) {
  const ProgramResult result = train("--steps 4 --checkpoint-every 2 --validate-every 2");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(parse_json(result.out, "stdout")["finished"], true);
  EXPECT_EQ(fs::read_symlink(run() / "latest"), "checkpoints/step_00000004");
  for (const char* name : {"config.json", "model.safetensors", "train_state.json", "train_state.safetensors"}) {
    EXPECT_TRUE(fs::is_regular_file(run() / "latest" / name)) << name;
  }
  EXPECT_EQ(read_json(run() / "run.json")["train"]["steps"], 4);

  const std::vector<Json> lines = metrics();
  ASSERT_EQ(lines.size(), 6u);  // four updates, two validations
  std::int64_t step = 0;
  for (const Json& line : lines) {
    if (line.contains("val_loss")) {
      EXPECT_EQ(line["step"], step);
      continue;
    }
    EXPECT_EQ(line["step"], ++step);
    EXPECT_EQ(line["tokens"], step * 2 * 8);
    EXPECT_EQ(keys_of(line),
              (std::set<std::string>{"step", "tokens", "loss", "lr", "grad_norm", "tokens_per_second", "elapsed_s"}));
  }
  EXPECT_DOUBLE_EQ(lines[0]["lr"].get<double>(), 0.5e-3);  // lr (s + 1) / W while s < W
}

TEST_F(TrainCommand, OtherTextsAreValidatedAtTheEnd) {
  fs::create_directories(folder_ / "wiki");
  std::vector<std::int32_t> tokens(60);
  std::iota(tokens.begin(), tokens.end(), 50);
  formats::TokenShardWriter writer(folder_ / "wiki/train_000000.bin", formats::TokenWidth::u16);
  writer.append(tokens);
  writer.commit();
  const std::string wiki = (folder_ / "wiki").string();
  const ProgramResult result =
      train("--steps 4 --validate-every 2 --validate-also wiki=" + wiki + " --validate-also again=" + wiki);
  ASSERT_EQ(result.status, 0) << result.err;
  const Json summary = parse_json(result.out, "stdout");
  EXPECT_GT(summary["val_loss_wiki"].get<double>(), 0);
  EXPECT_EQ(summary["val_loss_wiki"], summary["val_loss_again"]);
  const std::vector<Json> lines = metrics();
  EXPECT_EQ(lines.back()["val_loss_wiki"], summary["val_loss_wiki"]);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) EXPECT_FALSE(lines[i].contains("val_loss_wiki")) << lines[i];
  EXPECT_EQ(read_json(run() / "run.json")["validate_also"]["wiki"]["path"], "../wiki");

  fs::remove_all(run());
  for (const auto& [flags, words] : std::vector<std::pair<std::string, std::string>>{
           {"--validate-also " + wiki, "expected NAME=DIR"},
           {"--validate-also wiki=" + wiki + " --validate-also wiki=" + wiki, "the name 'wiki' is given twice"},
           {"--validate-every 0 --validate-also wiki=" + wiki, "validate_every = 0 turns it off"}}) {
    const ProgramResult refused = train("--steps 4 " + flags);
    EXPECT_EQ(refused.status, 2) << flags << refused.err;
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(run()));
  }
}

// Runs of one program record one build.
TEST_F(TrainCommand, TheRecordNamesVersionAndBuild) {
  std::set<std::string> builds;
  for (int i = 0; i < 2; ++i) {
    fs::remove_all(run());
    ASSERT_EQ(train("--steps 1 --validate-every 0").status, 0);
    const Json record = read_json(run() / "run.json");
    EXPECT_FALSE(record["version"].get<std::string>().empty());
    EXPECT_EQ(record["data"]["path"], "../data");
    EXPECT_EQ(record["parameters"]["embedding"], 256 * 16);
    builds.insert(record["build"].get<std::string>());
  }
  ASSERT_EQ(builds.size(), 1u);
  EXPECT_EQ(builds.begin()->size(), 40u);
  EXPECT_EQ(builds.begin()->find_first_not_of("0123456789abcdef"), std::string::npos) << *builds.begin();
}

TEST_F(TrainCommand, ADryRunCountsTheWholeValidationPart) {
  const ProgramResult whole = train("--steps 4 --validate-every 2 --validation-rows 0 --dry-run");
  ASSERT_EQ(whole.status, 0) << whole.err;
  const Json estimate = parse_json(whole.out, "stdout");
  EXPECT_GT(estimate["validation_seconds"].get<double>(), 0);
  EXPECT_GT(estimate["total_seconds"].get<double>(), estimate["validation_seconds"].get<double>());
  EXPECT_FALSE(fs::exists(run()));
}

TEST_F(TrainCommand, AFinishedRunStaysAsItIsAndMoreStepsExtendIt) {
  ASSERT_EQ(train("--steps 3 --checkpoint-every 0 --validate-every 0 --resume").status, 0);
  const std::string record = read_file(run() / "run.json");
  for (const char* steps : {"--steps 3", "--steps 2"}) {
    const ProgramResult again = train(std::string(steps) + " --checkpoint-every 0 --validate-every 0");
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(read_file(run() / "run.json"), record);
  }
  const ProgramResult longer = train("--steps 5 --checkpoint-every 0 --validate-every 0 --resume");
  ASSERT_EQ(longer.status, 0) << longer.err;
  EXPECT_EQ(parse_json(longer.out, "stdout")["step"], 5);
  EXPECT_EQ(metrics().size(), 5u);
  EXPECT_EQ(fs::read_symlink(run() / "latest"), "checkpoints/step_00000005");
}

TEST_F(TrainCommand, SaysWhetherARunIsNewAndWhenNothingIsLeftToTrain) {
  const ProgramResult first = train("--resume --steps 2");
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(first.err.starts_with("no run in " + run().string() + " yet: starting a new crope_all run\n"))
      << first.err;
  const ProgramResult fewer = train("--steps 1");
  EXPECT_EQ(fewer.status, 0);
  EXPECT_NE(fewer.err.find("has already reached step 2: 1 steps need no more training"), std::string::npos)
      << fewer.err;
}

TEST_F(TrainCommand, ARecipesShapeYieldsToTheModelThatIsFineTuned) {
  ASSERT_EQ(train("--steps 2").status, 0);
  const std::string tuned = (folder_ / "tuned").string();
  const std::string command = "train --recipe finetune --init-from " + run().string() + " --data " +
                              (folder_ / "data").string() + " --threads 1 --batch-size 2 --out " + tuned;
  const ProgramResult result = test::run_program(command + " --steps 2");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json record = read_json(tuned + "/run.json");
  EXPECT_EQ(record["train"]["seq_len"], 8);  // that of the run it started from
  EXPECT_EQ(record["train"]["lr"], 2e-4);
  const std::string shape = "train --recipe small_cpu --init-from " + run().string() + " --data " +
                            (folder_ / "data").string() + " --threads 1 --batch-size 2 --seq-len 8 --steps 2 --out ";
  EXPECT_EQ(test::run_program(shape + (folder_ / "other").string()).status, 0);
  EXPECT_EQ(test::run_program(shape + (folder_ / "other").string()).status, 0);  // resumed
  EXPECT_EQ(test::run_program(shape + (folder_ / "third").string() + " --d-model 32").status, 1);
}

TEST_F(TrainCommand, AnotherConfigurationIsNamedAndNothingChanges) {
  ASSERT_EQ(train("--steps 2 --validate-every 0").status, 0);
  const std::string before = read_file(run() / "metrics.jsonl");
  const ProgramResult other = train("--steps 4 --validate-every 0 --weight-decay 0");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("weight_decay: recorded 0.1, given 0.0"), std::string::npos) << other.err;
  EXPECT_EQ(read_file(run() / "metrics.jsonl"), before);
}

TEST_F(TrainCommand, BadInputIsNamed) {
  struct Case {
    const char* flags;
    int status;
    const char* words;
  };
  for (const auto& [flags, status, words] : std::array<Case, 6>{{
           {"--vocab-size 100", 1, "outside the vocabulary of 100"},
           {"--batch-size 500", 1, "too few tokens"},
           {"--num-heads 3", 2, "num_heads must divide d_model (got 3 and 16)"},
           {"--steps 0", 2, "steps: expected at least 1"},
           {"--data-order random", 2, "random"},
           {"--device warp", 2, "unknown device 'warp'"},
       }}) {
    const ProgramResult result = train(std::string("--validate-every 0 --steps 8 ") + flags);
    EXPECT_EQ(result.status, status) << flags << ": " << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << flags << ": " << result.err;
    EXPECT_EQ(result.out, "") << flags;
    fs::remove_all(run());
  }
}

// A job that a scheduler preempts is not finished: `crope train && next` must not go on to next.
TEST_F(TrainCommand, ASignalGivesItsOwnExitStatusAfterACheckpoint) {
  for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
    fs::remove_all(run());
    std::vector<std::string> words = {CROPE_BINARY,
                                      "train",
                                      "--out",
                                      run().string(),
                                      "--data",
                                      folder_ / "data",
                                      "--num-layers",
                                      "1",
                                      "--d-model",
                                      "16",
                                      "--num-heads",
                                      "2",
                                      "--d-ff",
                                      "16",
                                      "--vocab-size",
                                      "256",
                                      "--batch-size",
                                      "2",
                                      "--seq-len",
                                      "8",
                                      "--threads",
                                      "1",
                                      "--steps",
                                      "10000000",
                                      "--validate-every",
                                      "0",
                                      "--checkpoint-every",
                                      "0"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t process = ::fork();
    if (process == 0) {
      ::execv(CROPE_BINARY, arguments.data());
      ::_exit(127);
    }
    std::error_code code;
    while (fs::file_size(run() / "metrics.jsonl", code) < 100 || code) ::usleep(20'000);
    ::kill(process, signal);
    int ended = 0;
    ASSERT_EQ(::waitpid(process, &ended, 0), process);
    ASSERT_TRUE(WIFEXITED(ended));
    EXPECT_EQ(WEXITSTATUS(ended), status);
    EXPECT_TRUE(fs::exists(run() / "latest" / "model.safetensors"));
  }
}

TEST_F(TrainCommand, AModelFarTooLargeIsRefusedAtOnce) {
  for (const char* more : {"--dry-run", "--steps 3"}) {
    const auto result = train(std::string(more) + " --num-layers 1000 --d-model 65536 --d-ff 65536");
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find("TB for weights, gradients and optimiser state; "), std::string::npos) << result.err;
  }
}

TEST_F(TrainCommand, ARejectedCheckpointIsReportedWithTheOneThatIsUsed) {
  ASSERT_EQ(train("--steps 4 --checkpoint-every 2").status, 0);
  const fs::path checkpoints = run() / "checkpoints";
  fs::resize_file(checkpoints / "step_00000004/model.safetensors", 100);
  const auto result = train("--steps 4 --checkpoint-every 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("rejected " + (checkpoints / "step_00000004").string() + "; resuming from " +
                            (checkpoints / "step_00000002").string() + " instead"),
            std::string::npos)
      << result.err;
}

TEST_F(TrainCommand, AGapInTheMetricsIsReported) {
  ASSERT_EQ(train("--steps 4 --checkpoint-every 2").status, 0);
  const std::string lines = read_file(run() / "metrics.jsonl");
  write_file(run() / "metrics.jsonl", lines.substr(lines.find('\n') + 1));
  const auto result = train("--steps 6");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("metrics.jsonl: the lines of 1 of the first 4 steps are missing"), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace crope
