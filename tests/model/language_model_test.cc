#include "crope/model/language_model.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/text/tokenizer_json.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::model {
namespace {

namespace fs = std::filesystem;

class LanguageModelTest : public testing::Test {
 protected:
  // A model directory with a tokenizer of 264 tokens, of which 0 is <|endoftext|>.
  fs::path save(std::int64_t vocab_size, const Json& other_keys = Json::object()) {
    ModelConfig config{
        .vocab_size = vocab_size, .num_layers = 1, .num_heads = 2, .d_model = 8, .d_ff = 6, .max_seq_len = 16};
    config.other_keys = other_keys;
    const fs::path dir = folder_ / "model";
    save_model(make_random_transformer(config, {.seed = 1}), dir);
    text::write_tokenizer_files(dir, text::small_vocabulary());
    return dir;
  }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_F(LanguageModelTest, EndOfTextIsBeginAndEndUnlessConfigured) {
  const LanguageModel model = load_language_model(save(270), log_);
  EXPECT_EQ(model.end_tokens, std::vector<std::int32_t>{0});
  EXPECT_EQ(model.begin_token, 0);
  EXPECT_EQ(model.prefix_token, 0);
  EXPECT_EQ(model.window(), 16);
  EXPECT_EQ(model.encode("ab", "x"), model.require_tokenizer().encode("ab"));
}

TEST_F(LanguageModelTest, ConfiguredTokensWinAndThoseOutsideTheVocabularyAreSkipped) {
  const LanguageModel model =
      load_language_model(save(270, {{"eos_token_id", {5, 270, "x", 7}}, {"bos_token_id", 3}}), log_);
  EXPECT_EQ(model.end_tokens, (std::vector<std::int32_t>{5, 7}));
  EXPECT_EQ(model.begin_token, 3);
  EXPECT_EQ(model.prefix_token, 3);
}

// As lm_eval has it: bos, else eos, however the vocabulary calls other tokens.
TEST_F(LanguageModelTest, WithoutABosAnEosIsThePrefix) {
  EXPECT_EQ(load_language_model(save(270, {{"eos_token_id", 5}}), log_).prefix_token, 5);
}

TEST_F(LanguageModelTest, ATokenizerLargerThanTheModelIsRefused) {
  const fs::path dir = save(100);
  try {
    load_language_model(dir, log_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("264 tokens, but the model only 100"), std::string::npos) << e.what();
  }
}

TEST_F(LanguageModelTest, WithoutATokenizerIdsStillWorkAndTextIsRefused) {
  const fs::path dir = save(270);
  fs::remove(dir / text::kTokenizerFile);
  const LanguageModel model = load_language_model(dir, log_);
  EXPECT_EQ(model.tokenizer_or_null(), nullptr);
  EXPECT_TRUE(model.end_tokens.empty());
  EXPECT_FALSE(model.begin_token);
  EXPECT_FALSE(model.prefix_token);
  EXPECT_THROW(model.encode("ab", "--prompt"), UsageError);
}

TEST_F(LanguageModelTest, TextThatIsNotUtf8IsRefusedByItsOrigin) {
  const LanguageModel model = load_language_model(save(270), log_);
  try {
    model.encode("a\xff", "--prompt");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "--prompt: not valid UTF-8 at byte 1");
  }
}

TEST_F(LanguageModelTest, WeightTypesHaveNames) {
  const std::filesystem::path dir = save(270);
  for (const char* name : {"fp32", "bf16", "int8", "int4"}) {
    const auto type = Choice<ops::WeightType>::by_name(name, "weights");
    const Transformer model = load_language_model(dir, log_, type).model;
    EXPECT_EQ(Choice(weight_type(model)).name(), name);
    EXPECT_EQ(model.embedding.defined(), !ops::is_quantised(type));
  }
  EXPECT_THROW(Choice<ops::WeightType>::by_name("fp64", "weights"), UsageError);
}

// What a model was saved in is what it is loaded in, unless another type is asked for.
TEST_F(LanguageModelTest, TheRecordedTypeIsTheDefault) {
  const std::filesystem::path dir = save(270);
  for (const auto type : {ops::WeightType::fp32, ops::WeightType::bf16, ops::WeightType::int8, ops::WeightType::int4}) {
    const LanguageModel model = load_language_model(dir, log_, type);
    const fs::path saved = folder_ / std::string(Choice(type).name());
    save_model(model.model, saved);
    copy_text_files(dir, saved);
    EXPECT_EQ(load_weight_type(saved), type);
    const LanguageModel back = load_language_model(saved, log_);
    EXPECT_EQ(weight_type(back.model), type);
    EXPECT_EQ(back.require_tokenizer().encode("ab"), model.require_tokenizer().encode("ab"));
    for (std::size_t i = 0; i < model.model.parameters.size(); ++i) {
      const Parameter &before = model.model.parameters[i], &after = back.model.parameters[i];
      ASSERT_EQ(before.quantised.has_value(), after.quantised.has_value());
      EXPECT_TRUE(before.quantised ? at::equal(ops::to_blocks(*before.quantised), ops::to_blocks(*after.quantised))
                                   : at::equal(before.value, after.value))
          << before.spec.name;
    }
    const Transformer wide = load_language_model(saved, log_, ops::WeightType::fp32).model;
    EXPECT_EQ(weight_type(wide), ops::WeightType::fp32);
    EXPECT_FALSE(wide.config.other_keys.contains(kWeightsKey)) << "it would be recorded with other weights";
  }
}

}  // namespace
}  // namespace crope::model
