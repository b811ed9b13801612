#include "crope/interop/hf_import.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/interop/hf_export.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"
#include "tests/golden_models.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

class HfImport : public testing::Test {
 protected:
  using TensorMap = std::map<std::string, Tensor>;

  // A dense export to start from.
  fs::path exported(const std::string& variant) {
    const fs::path out = folder_ / ("hf_" + test::golden_test_name(variant));
    export_hf(test::golden_folder(variant), out, torch::kFloat32, log_);
    return out;
  }

  static TensorMap read(const fs::path& file) {
    TensorMap tensors;
    const auto opened = formats::SafetensorsFile::open(file);
    for (const auto& tensor : opened.tensors()) tensors[tensor.name] = model::view_tensor(opened, tensor).clone();
    return tensors;
  }

  static void write(const fs::path& file, const TensorMap& tensors) {
    std::vector<formats::TensorSource> sources;
    for (const auto& [name, value] : tensors) sources.push_back(model::tensor_source(name, value));
    formats::write_safetensors(file, std::move(sources));
  }

  static void change_config(const fs::path& dir, const std::function<void(Json&)>& change) {
    Json json = read_json(dir / "config.json");
    change(json);
    write_json(dir / "config.json", json);
  }

  std::string import_error(const fs::path& dir) {
    try {
      import_hf(dir, folder_ / "out", log_);
    } catch (const Error& e) {
      EXPECT_FALSE(fs::exists(folder_ / "out")) << "a refused import left something";
      return e.what();
    }
    fs::remove_all(folder_ / "out");
    return "";
  }

  Tensor logits_of(const model::Transformer& model) { return model::logits(model, at::arange(20).unsqueeze(0)); }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_F(HfImport, ShardsAreOneModel) {
  const fs::path dir = exported("crope_all");
  const Tensor expected = logits_of(load_hf_model(dir, log_));
  const TensorMap all = read(dir / "model.safetensors");
  TensorMap first, second;
  Json map = Json::object();
  for (const auto& [name, value] : all) {
    const bool in_first = map.size() % 2 == 0;
    (in_first ? first : second)[name] = value;
    map[name] = in_first ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
  }
  write(dir / "model-00001-of-00002.safetensors", first);
  write(dir / "model-00002-of-00002.safetensors", second);
  write_json(dir / "model.safetensors.index.json", {{"weight_map", map}});
  fs::remove(dir / "model.safetensors");
  EXPECT_TRUE(at::equal(logits_of(load_hf_model(dir, log_)), expected));

  Json absent = map;
  absent["model.layers.9.nothing"] = "model-00001-of-00002.safetensors";
  write_json(dir / "model.safetensors.index.json", {{"weight_map", absent}});
  EXPECT_NE(import_error(dir).find("model.layers.9.nothing"), std::string::npos);
  absent = map;
  absent["model.norm.weight"] = "../elsewhere.safetensors";
  write_json(dir / "model.safetensors.index.json", {{"weight_map", absent}});
  EXPECT_NE(import_error(dir).find("expected a file name"), std::string::npos);
  write_json(dir / "model.safetensors.index.json", {{"weight_map", map}});
  fs::remove(dir / "model-00002-of-00002.safetensors");
  EXPECT_NE(import_error(dir).find("the shard model-00002-of-00002.safetensors is missing"), std::string::npos);
}

// Two heads that share a key and a value are two heads with equal ones, and stay so on disk.
TEST_F(HfImport, GroupedHeadsStayGrouped) {
  const fs::path dir = exported("rope");
  TensorMap tensors = read(dir / "model.safetensors");
  change_config(dir, [](Json& json) { json.erase("crope"); });
  TensorMap repeated = tensors, grouped = tensors;
  for (const auto& [name, value] : tensors) {
    if (!name.ends_with("k_proj.weight") && !name.ends_with("v_proj.weight")) continue;
    const Tensor heads = value.view({4, 8, 32}).slice(0, 0, 4, 2);
    grouped[name] = heads.reshape({16, 32}).clone();
    repeated[name] = heads.repeat_interleave(2, 0).reshape({32, 32}).clone();
  }
  write(dir / "model.safetensors", repeated);
  const Tensor expected = logits_of(load_hf_model(dir, log_));
  write(dir / "model.safetensors", grouped);
  change_config(dir, [](Json& json) { json["num_key_value_heads"] = 2; });
  const model::Transformer model = load_hf_model(dir, log_);
  EXPECT_EQ(model.config.num_kv_heads, 2);
  EXPECT_EQ(ops::dense_matrix(model.blocks[0].attention.qkv[1]).size(0), 16);
  test::expect_close(logits_of(model), expected, 1e-6);
}

TEST_F(HfImport, AnOutputOfItsOwnAndNoQkNorm) {
  const fs::path dir = exported("rope");
  TensorMap tensors = read(dir / "model.safetensors");
  std::erase_if(tensors, [](const auto& entry) {
    return entry.first.find("_norm.weight") != std::string::npos && entry.first.find("self_attn") != std::string::npos;
  });
  tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"] * 2;
  write(dir / "model.safetensors", tensors);
  change_config(dir, [](Json& json) {
    json.erase("crope");
    json["model_type"] = "llama";
    json["tie_word_embeddings"] = false;
  });
  import_hf(dir, folder_ / "m", log_);
  const model::Transformer model = model::load_model(folder_ / "m", log_);
  EXPECT_FALSE(model.config.qk_norm);
  EXPECT_FALSE(model.config.tie_embeddings);
  EXPECT_TRUE(at::equal(model.output, model.embedding * 2));
  EXPECT_TRUE(at::isfinite(logits_of(model)).all().item<bool>());
}

TEST_F(HfImport, WeightsThatAreNoLongerTiedComeInDense) {
  const fs::path dir = exported("crope_all");
  TensorMap tensors = read(dir / "model.safetensors");
  tensors["model.layers.0.self_attn.v_proj.weight"][0][0] += 1;
  write(dir / "model.safetensors", tensors);
  EXPECT_EQ(load_hf_model(dir, log_).config.variant, model::Variant::rope);

  const fs::path filled = exported("half_rope_qk");
  tensors = read(filled / "model.safetensors");
  tensors["model.layers.0.self_attn.q_proj.weight"][0][0] += 1;
  write(filled / "model.safetensors", tensors);
  EXPECT_EQ(load_hf_model(filled, log_).config.variant, model::Variant::rope);
}

// A gain that no longer has one value per pair, or is no longer one, makes the model dense with free gains, and the
// imported model computes with the changed gain.
TEST_F(HfImport, GainsThatHaveBeenTrainedComeInDenseWithAWarning) {
  struct Case {
    const char* golden;
    const char* tensor;
  };
  for (const auto& [golden, tensor] : {Case{"more/crope_all_qk_gain_pair", "model.layers.1.self_attn.k_norm.weight"},
                                       Case{"more/crope_all_qk_gain_pair", "model.layers.0.input_layernorm.weight"},
                                       Case{"more/crope_all_norm_gain_pair", "model.norm.weight"},
                                       Case{"more/crope_all_qk_gain_none", "model.layers.1.self_attn.q_norm.weight"},
                                       Case{"more/rope_qk_gain_none", "model.layers.0.self_attn.k_norm.weight"}}) {
    const fs::path dir = exported(golden);
    TensorMap tensors = read(dir / "model.safetensors");
    tensors[tensor][0] += 0.5;
    write(dir / "model.safetensors", tensors);
    std::FILE* lines = std::tmpfile();
    Log log(lines);
    const model::Transformer model = load_hf_model(dir, log);
    std::rewind(lines);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), lines));
    std::fclose(lines);
    EXPECT_NE(text.find(std::string("'") + tensor + "' has been changed since"), std::string::npos) << text;
    EXPECT_EQ(model.config.variant, model::Variant::rope) << tensor;
    EXPECT_EQ(model.config.qk_gain, model::Gain::free) << tensor;
    EXPECT_EQ(model.config.norm_gain, model::Gain::free) << tensor;
    const model::Transformer before = model::load_model(test::golden_folder(golden), log_);
    EXPECT_GT(test::relative_error(logits_of(model), logits_of(before)), 1e-3) << tensor;
    fs::remove_all(dir);
  }
}

TEST_F(HfImport, WhatDoesNotFitIsNamed) {
  EXPECT_NE(import_error(folder_ / "absent").find("no config.json"), std::string::npos);
  const fs::path dir = exported("rope");
  const TensorMap good = read(dir / "model.safetensors");

  TensorMap tensors = good;
  tensors.erase("model.norm.weight");
  write(dir / "model.safetensors", tensors);
  EXPECT_NE(import_error(dir).find("'model.norm.weight' is missing"), std::string::npos);

  tensors = good;
  tensors["model.norm.weight"] = at::ones({33});
  write(dir / "model.safetensors", tensors);
  EXPECT_NE(import_error(dir).find("expected the shape [32], found [33]"), std::string::npos);

  tensors = good;
  tensors["model.norm.weight"] = at::ones({32}, torch::kInt32);
  write(dir / "model.safetensors", tensors);
  EXPECT_NE(import_error(dir).find("found I32"), std::string::npos);

  tensors = good;
  tensors["model.layers.0.self_attn.q_proj.bias"] = at::ones({32});
  write(dir / "model.safetensors", tensors);
  EXPECT_NE(import_error(dir).find("q_proj.bias"), std::string::npos);

  write(dir / "model.safetensors", good);
  change_config(dir, [](Json& json) { json["crope"]["rope_theta"] = 1.0; });
  EXPECT_NE(import_error(dir).find("crope.rope_theta"), std::string::npos);

  change_config(dir, [](Json& json) {
    json["crope"]["rope_theta"] = 5000.0;
    json["tie_word_embeddings"] = false;
  });
  EXPECT_NE(import_error(dir).find("do not agree on tied embeddings"), std::string::npos);

  fs::remove(dir / "model.safetensors");
  EXPECT_NE(import_error(dir).find("neither model.safetensors nor"), std::string::npos);
}

// tok512.bin: int32 longest token, then of each token float32 score, int32 length, bytes. "<0x0A>" is a byte.
std::vector<std::string> read_vocabulary(const fs::path& path) {
  const std::string data = read_file(path);
  std::vector<std::string> tokens;
  for (std::size_t place = 4; place + 8 <= data.size();) {
    std::int32_t length = 0;
    std::memcpy(&length, data.data() + place + 4, 4);
    std::string token = data.substr(place + 8, static_cast<std::size_t>(length));
    if (token.size() == 6 && token.starts_with("<0x"))
      token = static_cast<char>(std::stoi(token.substr(3, 2), nullptr, 16));
    tokens.push_back(std::move(token));
    place += 8 + static_cast<std::size_t>(length);
  }
  return tokens;
}

// A real trained model tells the story that its authors' program tells.
TEST_F(HfImport, GreedyTextOfARealModel) {
  const char* data = std::getenv("CROPE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "CROPE_TEST_DATA is not set: no real data here";
  const fs::path source = fs::path(data) / "checkpoints/stories260K";
  const at::NoGradGuard no_grad;
  const model::Transformer model = load_hf_model(source, log_);
  const std::vector<std::string> vocabulary = read_vocabulary(source / "tok512.bin");
  const std::string expected = read_file(source / "expected_greedy_200.txt");
  std::vector<std::int64_t> ids = {1};
  std::string text;
  for (int step = 0; step < 200; ++step) {
    const Tensor row = model::logits(model, at::tensor(ids, torch::kInt64).unsqueeze(0))[0][-1];
    ids.push_back(row.argmax().item<std::int64_t>());
    text += vocabulary.at(static_cast<std::size_t>(ids.back()));
  }
  if (text.starts_with(" ")) text.erase(0, 1);  // the vocabulary puts a space before the first word
  EXPECT_EQ(text + "\n", expected);
}

TEST_F(HfImport, IdsThatBeginAndEndATextAreKept) {
  const fs::path dir = exported("rope");
  change_config(dir, [](Json& json) {
    json.erase("crope");
    json["bos_token_id"] = 1;
    json["eos_token_id"] = {2, 5};
    json["pad_token_id"] = nullptr;
  });
  write_json(dir / "generation_config.json", {{"eos_token_id", 9}, {"pad_token_id", 4}});
  const Json kept = load_hf_model(dir, log_).config.other_keys;
  EXPECT_EQ(kept, (Json{{"bos_token_id", 1}, {"eos_token_id", {2, 5}}, {"pad_token_id", 4}}));

  import_hf(dir, folder_ / "model", log_);
  export_hf(folder_ / "model", folder_ / "again", torch::kFloat32, log_);
  EXPECT_EQ(read_json(folder_ / "again/config.json")["eos_token_id"], (Json{2, 5}));
  EXPECT_EQ(read_json(folder_ / "again/generation_config.json")["pad_token_id"], 4);
  EXPECT_EQ(load_hf_model(folder_ / "again", log_).config.other_keys, kept);

  change_config(dir, [](Json& json) { json["eos_token_id"] = "</s>"; });
  EXPECT_NE(import_error(dir).find("eos_token_id"), std::string::npos);
}

}  // namespace
}  // namespace crope::interop
