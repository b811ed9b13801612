#include "crope/interop/gguf_import.h"

#include <gtest/gtest.h>

#include <functional>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/formats/gguf_writer.h"
#include "crope/interop/gguf_export.h"
#include "crope/model/language_model.h"
#include "crope/model/model_dir.h"
#include "crope/text/tokenizer_json.h"
#include "tests/golden_models.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"
#include "tests/text/fixtures.h"
#include "tests/text/sentence_piece_fixture.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using formats::GgufFile;
using formats::GgufMetadata;
using torch::Tensor;

class GgufImport : public testing::Test {
 protected:
  // A model directory with the vocabulary beside its weights.
  fs::path model_with(const std::string& golden, const text::Vocabulary& vocabulary) {
    const fs::path dir = folder_ / "source";
    fs::remove_all(dir);
    fs::create_directory(dir);
    model::Transformer model = model::load_model(test::golden_folder(golden), log_);
    // As many rows as the vocabulary has tokens.
    model::ModelConfig config = model.config;
    config.vocab_size = static_cast<std::int64_t>(vocabulary.tokens.size());
    std::vector<Tensor> values;
    for (const model::Parameter& parameter : model.parameters) {
      const bool is_embedding = parameter.spec.role == model::Role::embedding;
      values.push_back(is_embedding ? at::randn({config.vocab_size, config.d_model}) : parameter.value);
    }
    config.other_keys = {{"bos_token_id", 0}, {"eos_token_id", 0}};
    model::save_model_files(model::make_transformer(config, values), dir);
    text::write_tokenizer_files(dir, vocabulary);
    return dir;
  }

  fs::path gguf_of(const fs::path& model) {
    fs::remove(folder_ / "m.gguf");
    export_gguf(model, folder_ / "m.gguf", formats::GgmlType::f32, log_);
    return folder_ / "m.gguf";
  }

  fs::path imported(const fs::path& gguf, torch::ScalarType type = torch::kFloat32) {
    fs::remove_all(folder_ / "imported");
    import_gguf(gguf, folder_ / "imported", type, log_);
    return folder_ / "imported";
  }

  // What is said about m.gguf with its keys changed.
  std::string import_error(const std::function<void(GgufMetadata&)>& change) {
    const GgufFile file = GgufFile::open(folder_ / "m.gguf");
    GgufMetadata keys = file.metadata();
    change(keys);
    std::vector<formats::GgufTensorSource> sources;
    for (const formats::GgufTensor& tensor : file.tensors()) {
      sources.push_back({tensor.name, tensor.type, tensor.shape,
                         [bytes = tensor.bytes, mapping = file.mapping()](const auto& sink) { sink(bytes); }});
    }
    formats::write_gguf(folder_ / "changed.gguf", keys, sources);
    try {
      imported(folder_ / "changed.gguf");
    } catch (const Error& e) {
      EXPECT_FALSE(fs::exists(folder_ / "imported"));
      return e.what();
    }
    return "";
  }

  static void set(GgufMetadata& keys, const std::string& key, formats::GgufValue value) {
    for (auto& [name, old] : keys) {
      if (name == key) old = value;
    }
  }
  static void erase(GgufMetadata& keys, const std::string& key) {
    std::erase_if(keys, [&](const auto& entry) { return entry.first == key; });
  }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_F(GgufImport, GivesTheModelBackWithEveryWayToSplitWords) {
  for (const text::WordSplit split :
       {text::WordSplit::gpt2, text::WordSplit::smollm, text::WordSplit::llama3, text::WordSplit::qwen2}) {
    text::Vocabulary vocabulary = text::small_vocabulary();
    vocabulary.split = split;
    vocabulary.whole_words_first = split == text::WordSplit::llama3;
    const fs::path source = model_with("more/rope_grouped", vocabulary);
    write_file(source / model::kChatTemplateFile, "<|im_start|>\n<|im_end|>");
    const fs::path back = imported(gguf_of(source));
    const model::LanguageModel before = model::load_language_model(source, log_);
    const model::LanguageModel after = model::load_language_model(back, log_);
    EXPECT_EQ(after.model.config.num_kv_heads, 2);
    EXPECT_EQ(after.tokenizer->fingerprint(), before.tokenizer->fingerprint());
    EXPECT_EQ(after.chat_template, before.chat_template);
    EXPECT_EQ(after.end_tokens, before.end_tokens);
    for (std::size_t i = 0; i < before.model.parameters.size(); ++i) {
      EXPECT_TRUE(at::equal(after.model.parameters[i].value, before.model.parameters[i].value))
          << before.model.parameters[i].spec.name;
    }
  }
}

TEST_F(GgufImport, SentencePieceVocabulariesKeepTheirScores) {
  const text::Vocabulary vocabulary = text::small_pieces();
  const fs::path back = imported(gguf_of(model_with("rope", vocabulary)));
  const text::Tokenizer tokenizer = text::Tokenizer::load(back), expected(vocabulary);
  for (const char* text : {"the thing", "in ging ü", "  the"}) {
    EXPECT_EQ(tokenizer.encode(text), expected.encode(text)) << text;
  }
}

TEST_F(GgufImport, WeightsOfSixteenBits) {
  const fs::path source = model_with("rope", text::small_vocabulary());
  const fs::path back = imported(gguf_of(source), torch::kBFloat16);
  const model::Transformer before = model::load_model(source, log_), after = model::load_model(back, log_);
  EXPECT_TRUE(at::equal(after.embedding, before.embedding.to(torch::kBFloat16).to(torch::kFloat32)));
}

TEST_F(GgufImport, RopeScalingComesAlong) {
  using ops::RopeStretch;
  const ops::RopeScaling kinds[] = {
      {.type = RopeStretch::linear, .factor = 2},
      {.type = RopeStretch::yarn, .factor = 4, .original_length = 32, .attention_factor = 1.5, .beta_fast = 16},
      {.type = RopeStretch::yarn, .factor = 4, .original_length = 32},
      {.type = RopeStretch::llama3, .factor = 8, .original_length = 8192},
  };
  for (const ops::RopeScaling& scaling : kinds) {
    const fs::path source = model_with("rope", text::small_vocabulary());
    model::Transformer model = model::load_model(source, log_);
    model.config.rope_scaling = scaling;
    if (scaling.type == RopeStretch::llama3) {
      // llama.cpp reads these factors in models without QK-norm only.
      model.config.qk_norm = false;
      model.config.rope_theta = 500'000;  // slow pairs are divided by the whole factor
      std::vector<Tensor> values;
      for (const model::Parameter& parameter : model.parameters) {
        const bool is_qk_norm = parameter.spec.name.find("q_norm") != std::string::npos ||
                                parameter.spec.name.find("k_norm") != std::string::npos;
        if (!is_qk_norm) values.push_back(parameter.value);
      }
      model = model::make_transformer(model.config, values);
    }
    model::save_model_files(model, source);
    const model::ModelConfig back = model::load_config(imported(gguf_of(source)));
    EXPECT_EQ(back.rope_scaling.type, scaling.type);
    EXPECT_EQ(back.rope_scaling.original_length, scaling.original_length);
    EXPECT_NEAR(back.rope_scaling.factor, scaling.factor, 1e-6);
    EXPECT_NEAR(ops::rope_amplitude(back.rope_scaling), ops::rope_amplitude(scaling), 1e-6);
    EXPECT_EQ(back.rope_scaling.beta_fast, scaling.beta_fast);
  }
}

TEST_F(GgufImport, WhatCannotBeHeldIsNamed) {
  gguf_of(model_with("rope", text::small_vocabulary()));
  const std::pair<const char*, std::function<void(GgufMetadata&)>> cases[] = {
      {"general.architecture is 'qwen2'", [](auto& keys) { set(keys, "general.architecture", std::string("qwen2")); }},
      {"general.architecture is 'falcon'",
       [](auto& keys) { set(keys, "general.architecture", std::string("falcon")); }},
      {"tokenizer.ggml.pre is 'tekken'", [](auto& keys) { set(keys, "tokenizer.ggml.pre", std::string("tekken")); }},
      {"tokenizer.ggml.model is 'bert'", [](auto& keys) { set(keys, "tokenizer.ggml.model", std::string("bert")); }},
      {"'tokenizer.ggml.merges' is missing", [](auto& keys) { erase(keys, "tokenizer.ggml.merges"); }},
      {"tokenizer.ggml.token_type has 3 entries",
       [](auto& keys) {
         set(keys, "tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1});
       }},
      {"tokenizer.ggml.eos_token_id is 4000000",
       [](auto& keys) { set(keys, "tokenizer.ggml.eos_token_id", std::uint32_t{4000000}); }},
      {"qwen3.rope.scaling.type is 'longrope'",
       [](auto& keys) { keys.emplace_back("qwen3.rope.scaling.type", std::string("longrope")); }},
      {"qwen3.expert_count is 8", [](auto& keys) { keys.emplace_back("qwen3.expert_count", std::uint32_t{8}); }},
      {"qwen3.attention.head_count_kv is 3",
       [](auto& keys) { set(keys, "qwen3.attention.head_count_kv", std::uint32_t{3}); }},
      {"'qwen3.block_count' is missing", [](auto& keys) { erase(keys, "qwen3.block_count"); }},
  };
  for (const auto& [message, change] : cases) {
    const std::string found = import_error(change);
    EXPECT_NE(found.find(message), std::string::npos) << "expected: " << message << "\ngot: " << found;
  }
  EXPECT_EQ(import_error([](auto& keys) { erase(keys, "qwen3.attention.key_length"); }), "") << "it has a default";
}

TEST_F(GgufImport, SeveralFilesAreOneModel) {
  const fs::path source = model_with("rope", text::small_vocabulary());
  const GgufFile whole = GgufFile::open(gguf_of(source));
  std::vector<formats::GgufTensorSource> parts[2];
  for (std::size_t i = 0; i < whole.tensors().size(); ++i) {
    const formats::GgufTensor& tensor = whole.tensors()[i];
    parts[i % 2].push_back({tensor.name, tensor.type, tensor.shape,
                            [bytes = tensor.bytes, mapping = whole.mapping()](const auto& sink) { sink(bytes); }});
  }
  GgufMetadata keys = whole.metadata();
  keys.emplace_back("split.count", std::uint16_t{2});
  keys.emplace_back("split.no", std::uint16_t{0});
  const GgufMetadata second = {{"split.count", std::uint16_t{2}}, {"split.no", std::uint16_t{1}}};
  formats::write_gguf(folder_ / "x-00001-of-00002.gguf", keys, parts[0]);
  EXPECT_THROW(imported(folder_ / "x-00001-of-00002.gguf"), Error) << "the second is missing";
  formats::write_gguf(folder_ / "x-00002-of-00002.gguf", second, parts[1]);
  const model::Transformer model = model::load_model(imported(folder_ / "x-00001-of-00002.gguf"), log_);
  EXPECT_TRUE(at::equal(model.embedding, model::load_model(source, log_).embedding));
  fs::rename(folder_ / "x-00001-of-00002.gguf", folder_ / "other.gguf");
  EXPECT_THROW(imported(folder_ / "other.gguf"), Error);
}

}  // namespace
}  // namespace crope::interop
