#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/run_program.h"

namespace crope {
namespace {

namespace fs = std::filesystem;
using test::run_program;

const std::string kGoldens = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/";

Json json_of(const std::string& arguments) {
  const auto result = run_program(arguments + " --json");
  EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
  return result.status == 0 ? parse_json(result.out, arguments) : Json();
}

Json scores(const std::string& dir, const std::string& more = "") {
  return json_of("score " + dir + " --ids 1,2,3,4,5,6,7,8" + more)["logprobs"];
}

void expect_near(const Json& x, const Json& y, double most) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_NEAR(x[i].get<double>(), y[i].get<double>(), most);
}

// What is saved answers as the original does with its weights rounded while it is loaded.
TEST(QuantizeCommand, ASavedModelAnswersAsOneThatIsRoundedAtLoad) {
  for (const char* variant : {"rope", "crope_all", "half_rope_qk"}) {
    for (const std::string weights : {"bf16", "int8", "int4"}) {
      const test::TemporaryFolder folder;
      const std::string source = kGoldens + variant, out = (folder / "q").string();
      const Json report = json_of("quantize " + source + " " + out + " --weights " + weights);
      EXPECT_EQ(report["weights"], weights);
      EXPECT_LT(report["bytes"].get<double>(), 0.7 * report["bytes_before"].get<double>());
      EXPECT_EQ(scores(out), scores(source, " --weights " + weights));
      EXPECT_EQ(json_of("generate " + out + " --prompt-ids 1,2,3 --max-tokens 6")["choices"],
                json_of("generate " + source + " --prompt-ids 1,2,3 --max-tokens 6 --weights " + weights)["choices"]);
      const Json info = json_of("info " + out);
      EXPECT_EQ(info["weights"], weights);
      EXPECT_EQ(info["config"]["variant"], variant);
      EXPECT_FALSE(info["config"].contains("weights"));
    }
  }
}

// What computes in fp32 widens the weights: a Hugging Face export of either kind, and training from it.
TEST(QuantizeCommand, OthersWidenIt) {
  const test::TemporaryFolder folder;
  const std::string q = (folder / "q").string(), hf = (folder / "hf").string(), native = (folder / "native").string();
  json_of("quantize " + kGoldens + "crope_all " + q + " --weights int8");
  const Json wide = scores(q, " --weights fp32");
  json_of("export " + q + " " + hf + " --format hf");
  json_of("import " + hf + " " + hf + ".back");
  expect_near(scores(hf + ".back"), wide, 1e-4);
  json_of("export " + q + " " + native + " --format hf-native");
  expect_near(scores(native), wide, 1e-4);
  EXPECT_FALSE(read_json(native + "/config.json").contains("weights"));
  json_of("analyze " + q);
  // Once more, to the same type: nothing changes.
  json_of("quantize " + q + " " + q + ".again --weights int8");
  EXPECT_EQ(read_file(q + ".again/model.safetensors"), read_file(q + "/model.safetensors"));
}

class QuantizeWithText : public testing::Test {
 protected:
  // A small model trained for a few steps on the embedded world, with its tokenizer.
  QuantizeWithText() {
    const auto run = [](const std::string& arguments) {
      const auto result = run_program(arguments);
      EXPECT_EQ(result.status, 0) << arguments << "\n" << result.err;
    };
    const std::string at = folder_.path().string() + "/";
    run("data synth --out " + at + "world --documents 400 --seed 1");
    text_ = at + "world/train.jsonl";
    run("tokenizer train " + text_ + " --vocab-size 400 --out " + at + "tokenizer");
    run("data prepare " + text_ + " --tokenizer " + at + "tokenizer --out " + at + "data");
    run("train --data " + at + "data --out " + at +
        "run --variant crope_all --num-layers 2 --d-model 64 --num-heads 2 "
        "--d-ff 64 --steps 40 --batch-size 8 --seq-len 64 --warmup-steps 5 --lr 0.01 --min-lr 0.001");
    write_file(folder_ / "run/latest/chat_template.jinja", "<|im_start|>\n<|im_end|>");
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  test::TemporaryFolder folder_;
  std::string text_;
};

TEST_F(QuantizeWithText, CalibrationReportsItsGain) {
  const auto made = run_program("quantize " + path("run") + " " + path("q") + " --weights int4 --calibrate " + text_);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("int4, calibrated"), std::string::npos) << made.out;
  const Json report = json_of("quantize " + path("run") + " " + path("again") + " --weights int4 --calibrate " + text_);
  const Json& gain = report["calibration"];
  EXPECT_GT(gain["tokens"].get<int>(), 1000);
  EXPECT_GT(gain["held_out_tokens"].get<int>(), 100);
  // All three are there and near each other; how near says nothing on a model of forty steps.
  for (const char* name : {"loss", "loss_without_calibration"}) {
    EXPECT_NE(gain[name], gain["loss_before"]) << name;
    EXPECT_NEAR(gain[name].get<double>(), gain["loss_before"].get<double>(), 0.05) << name;
  }
  EXPECT_NE(gain["loss"], gain["loss_without_calibration"]);
  EXPECT_NE(read_file(path("q") + "/model.safetensors"), "");
  // Tokenizer and template come along: the model answers to text.
  EXPECT_TRUE(fs::exists(path("q") + "/chat_template.jinja"));
  const auto text = run_program("generate " + path("q") + " --prompt Once --max-tokens 5 --json");
  EXPECT_EQ(text.status, 0) << text.err;
  const auto trained =
      run_program("train --data " + path("data") + " --out " + path("more") + " --init-from " + path("q") +
                  " --variant crope_all --num-layers 2 --d-model 64 --num-heads 2 --d-ff 64 --steps 2 "
                  "--batch-size 4 --seq-len 32 --warmup-steps 1 --lr 0.001 --min-lr 0.001");
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(json_of("info " + path("more"))["weights"], "fp32");
}

// The text that speculation writes is the text without it, and its acceptance rate is reported.
TEST_F(QuantizeWithText, SpeculationWritesTheSameText) {
  const std::string prompt = " --prompt \"The red ball. The red ball. The red ball.\" --max-tokens 60 --ignore-eos";
  for (const std::string more : {" --weights int8", "", " --temperature 0.5 --seed 3"}) {
    const Json plain = json_of("generate " + path("run") + prompt + more);
    const Json guessed = json_of("generate " + path("run") + prompt + more + " --speculate 8");
    EXPECT_EQ(guessed["choices"], plain["choices"]) << more;
    EXPECT_FALSE(plain.contains("speculation"));
    const Json& speculation = guessed["speculation"];
    EXPECT_GE(speculation["guessed_tokens"].get<int>(), speculation["right_tokens"].get<int>());
    EXPECT_LE(speculation["acceptance_rate"].get<double>(), 1);
  }
  const auto line = run_program("generate " + path("run") + prompt + " --speculate 8");
  EXPECT_NE(line.err.find("guesses right"), std::string::npos) << line.err;
}

TEST(QuantizeCommandFlags, MistakesAreNamed) {
  const test::TemporaryFolder folder;
  const std::string start = "quantize " + kGoldens + "rope " + (folder / "q").string();
  const auto refused = [](const std::string& arguments, int status, const char* words) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.status, status) << arguments << "\n" << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  refused(start, 2, "--weights");
  refused(start + " --weights fp32", 2, "expected bf16, int8 or int4");
  refused(start + " --weights int5", 2, "int4");
  refused(start + " --weights int8 --calibrate text.txt", 2, "--calibrate");
  refused(start + " --weights int4 --calibrate " + (folder / "absent").string(), 1, "absent");
  write_file(folder / "text", "some text");
  refused(start + " --weights int4 --calibrate " + (folder / "text").string(), 2, "tokenizer.json");
  refused("quantize " + (folder / "no").string() + " " + (folder / "q").string() + " --weights int8", 1,
          "does not exist");
  EXPECT_FALSE(fs::exists(folder / "q"));
  write_file(folder / "there", "");
  refused("quantize " + kGoldens + "rope " + (folder / "there").string() + " --weights int8", 1, "there");
  refused("generate " + kGoldens + "rope --prompt-ids 1 --speculate 99", 2, "--speculate");
}

}  // namespace
}  // namespace crope
