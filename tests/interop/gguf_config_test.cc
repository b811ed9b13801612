#include "crope/interop/gguf_config.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/formats/gguf_writer.h"
#include "tests/temporary_folder.h"

namespace crope::interop {
namespace {

model::ModelConfig grouped_config(bool qk_norm) {
  model::ModelConfig config{
      .vocab_size = 40, .num_layers = 3, .num_heads = 4, .d_model = 32, .d_ff = 48, .max_seq_len = 64};
  config.num_kv_heads = 2;
  config.qk_norm = qk_norm;
  return config;
}

formats::GgufFile file_of(const test::TemporaryFolder& folder, const std::string& architecture,
                          const formats::GgufMetadata& keys) {
  formats::GgufMetadata metadata;
  metadata.emplace_back("general.architecture", architecture);
  metadata.insert(metadata.end(), keys.begin(), keys.end());
  formats::write_gguf(folder / "m.gguf", metadata, {});
  return formats::GgufFile::open(folder / "m.gguf");
}

TEST(GgufConfig, WhatIsWrittenIsRead) {
  const test::TemporaryFolder folder;
  for (const bool qk_norm : {true, false}) {
    const model::ModelConfig config = grouped_config(qk_norm);
    EXPECT_EQ(gguf_architecture(config), qk_norm ? "qwen3" : "llama");
    const auto file = file_of(folder, gguf_architecture(config), gguf_shape_keys(config));
    const model::ModelConfig read = read_gguf_config(file, {.vocab_size = 40, .tied = true, .rope_factors = {}});
    EXPECT_EQ(read.num_layers, 3);
    EXPECT_EQ(read.num_heads, 4);
    EXPECT_EQ(read.num_kv_heads, 2);
    EXPECT_EQ(read.d_model, 32);
    EXPECT_EQ(read.d_ff, 48);
    EXPECT_EQ(read.max_seq_len, 64);
    EXPECT_EQ(read.qk_norm, qk_norm);
    EXPECT_EQ(read.rope_theta, config.rope_theta);
    EXPECT_FLOAT_EQ(static_cast<float>(read.norm_eps), static_cast<float>(config.norm_eps));
  }
}

TEST(GgufConfig, WhatCannotBeHeldIsNamed) {
  const test::TemporaryFolder folder;
  const auto error_of = [&](const std::string& architecture, const formats::GgufMetadata& keys) -> std::string {
    try {
      read_gguf_config(file_of(folder, architecture, keys), {.vocab_size = 40, .tied = true, .rope_factors = {}});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  formats::GgufMetadata keys = gguf_shape_keys(grouped_config(true));
  EXPECT_NE(error_of("qwen2", keys).find("'qwen2'"), std::string::npos);
  EXPECT_NE(error_of("mamba", keys).find("'mamba'"), std::string::npos);
  keys.emplace_back("qwen3.expert_count", std::uint32_t{8});
  EXPECT_NE(error_of("qwen3", keys).find("qwen3.expert_count is 8"), std::string::npos);
  EXPECT_NE(error_of("qwen3", {}).find("qwen3.block_count"), std::string::npos);
}

}  // namespace
}  // namespace crope::interop
