#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/temporary_folder.h"

namespace crope::cli {
namespace {

namespace fs = std::filesystem;

struct Result {
  int status;
  std::string output;
};

class TokenizerCommand : public testing::Test {
 protected:
  TokenizerCommand() {
    write_file(folder_ / "a.txt", "the cat and the hat and the bat and the rat\n");
    write_file(folder_ / "b.jsonl", "{\"text\": \"the cat\"}\n\n{\"text\": \"a mat\"}\n");
  }

  // Runs `crope tokenizer ARGUMENTS` in the folder, with `input` on standard input.
  Result run(const std::string& arguments, const std::string& input = {}) const {
    write_file(folder_ / "input", input);
    const std::string line =
        "cd '" + folder_.path().string() + "' && '" CROPE_BINARY "' tokenizer " + arguments + " <input 2>errors";
    std::FILE* pipe = ::popen(line.c_str(), "r");
    std::string output;
    for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe)) output += static_cast<char>(byte);
    return {WEXITSTATUS(::pclose(pipe)), output};
  }

  std::string errors() const { return read_file(folder_ / "errors"); }

  test::TemporaryFolder folder_;
};

TEST_F(TokenizerCommand, TrainsEncodesAndDecodes) {
  const Result trained = run("train a.txt b.jsonl --vocab-size 270 --out t --special-token '<|pad|>' --json");
  ASSERT_EQ(trained.status, 0) << errors();
  const Json summary = parse_json(trained.output, "output");
  EXPECT_EQ(summary["vocab_size"], 270);
  EXPECT_EQ(summary["documents"], 3);
  EXPECT_EQ(summary["special_tokens"]["<|pad|>"], 1);

  const std::string text = "the cat\xFF\n";
  const Result encoded = run("encode --tokenizer t", text);
  ASSERT_EQ(encoded.status, 0) << errors();
  EXPECT_TRUE(parse_json(encoded.output, "output").is_array());
  EXPECT_EQ(run("decode --tokenizer t/tokenizer.json", encoded.output).output, text);

  const Result lines =
      run("encode --tokenizer t --jsonl text --special", "{\"text\": \"\"}\n{\"text\": \"<|pad|>\"}\n");
  EXPECT_EQ(lines.output, "[]\n[1]\n");
  EXPECT_EQ(run("import --tokenizer-json t --out copy").status, 0) << errors();
  EXPECT_EQ(read_file(folder_ / "t/tokenizer.json"), read_file(folder_ / "copy/tokenizer.json"));
  EXPECT_EQ(run("encode --tokenizer t --bench 2 --json", text).status, 0) << errors();
}

TEST_F(TokenizerCommand, AFolderStandsForItsFiles) {
  fs::create_directory(folder_ / "corpus");
  fs::rename(folder_ / "a.txt", folder_ / "corpus/a.txt");
  fs::rename(folder_ / "b.jsonl", folder_ / "corpus/b.jsonl");
  write_file(folder_ / "corpus/notes.md", "not read");
  const Result trained = run("train corpus --vocab-size 260 --out t --json");
  ASSERT_EQ(trained.status, 0) << errors();
  EXPECT_EQ(parse_json(trained.output, "output")["documents"], 3);
}

TEST_F(TokenizerCommand, FailuresSayWhatIsWrongAndLeaveNothing) {
  EXPECT_EQ(run("train a.txt --vocab-size 100 --out t").status, 2);
  EXPECT_EQ(run("train none.txt --vocab-size 300 --out t").status, 1);
  EXPECT_NE(errors().find("none.txt: no such file or folder"), std::string::npos) << errors();
  write_file(folder_ / "bad.jsonl", "{\"text\": \"fine\"}\n{\"body\": 1}\n");
  EXPECT_EQ(run("train bad.jsonl --vocab-size 300 --out t").status, 1);
  EXPECT_NE(errors().find("bad.jsonl:2: there is no field 'text'"), std::string::npos) << errors();
  EXPECT_FALSE(fs::exists(folder_ / "t"));

  ASSERT_EQ(run("train a.txt --vocab-size 260 --out t").status, 0) << errors();
  EXPECT_EQ(run("train a.txt --vocab-size 260 --out t").status, 1);
  EXPECT_EQ(run("decode --tokenizer t", "1 2 x").status, 2);
  EXPECT_EQ(run("decode --tokenizer t", "[260]").status, 1);
  EXPECT_EQ(run("encode --tokenizer none", "text").status, 1);
  EXPECT_EQ(run("encode --tokenizer t --jsonl text", "[1]\n").status, 1);
  EXPECT_EQ(run("import --vocab encoder.json --out u").status, 2);
  EXPECT_EQ(run("encode --tokeniser t").status, 2);
  EXPECT_NE(errors().find("--tokenizer"), std::string::npos) << errors();
}

}  // namespace
}  // namespace crope::cli
