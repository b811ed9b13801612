#include <gtest/gtest.h>

#include "crope/base/json.h"
#include "tests/run_program.h"

namespace crope {
namespace {

const std::string kTiny =
    "bench --num-layers 1 --num-heads 2 --d-model 32 --d-ff 32 --vocab-size 300 --max-seq-len 64 --rows 2 --seq-len 16 "
    "--repetitions 1 --threads 1 --variant crope_all";

TEST(BenchCommand, OneJsonDocument) {
  const auto result = test::run_program(kTiny + " --json");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = parse_json(result.out, "bench");
  EXPECT_EQ(json.at("threads"), 1);
  EXPECT_GT(json.at("gemm_flops").get<double>(), 0);
  EXPECT_EQ(json.at("variants").at(0).at("variant"), "crope_all");
}

TEST(BenchCommand, ATableWithEveryPart) {
  const auto result = test::run_program(kTiny);
  ASSERT_EQ(result.status, 0) << result.err;
  for (const char* part :
       {"GEMM peak", "memory", "block_linear backward", "muon", "between them", "decoding", "tokenizer"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  }
}

TEST(BenchCommand, RefusesWhatMakesNoSense) {
  EXPECT_EQ(test::run_program("bench --repetitions 0 --num-layers 1").status, 2);
  EXPECT_EQ(test::run_program("bench --variant rop").status, 2);
  EXPECT_EQ(test::run_program("bench --growth --axis widht").status, 2);
  const auto result = test::run_program("bench --out figures");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--growth"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace crope
