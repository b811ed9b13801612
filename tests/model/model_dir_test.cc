#include "crope/model/model_dir.h"

#include <csignal>
#include <cstdio>
#include <fstream>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/model/init.h"
#include "crope/model/tensor_file.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

ModelConfig tiny(Variant variant) {
  ModelConfig config;
  config.vocab_size = 11;
  config.num_layers = 1;
  config.num_heads = 2;
  config.d_model = 8;
  config.d_ff = 6;
  config.max_seq_len = 8;
  config.variant = variant;
  config.other_keys["note"] = "kept";
  return config;
}

class ModelDir : public testing::Test {
 protected:
  std::string load_error(const fs::path& path) {
    try {
      load_model(path, log_);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  // Rewrites model.safetensors of `dir` after a change to its list of tensors.
  void rewrite(const fs::path& dir, const std::function<void(std::vector<formats::TensorSource>&)>& change) {
    std::vector<formats::TensorSource> sources;
    {
      const auto file = formats::SafetensorsFile::open(dir / "model.safetensors");
      for (const auto& tensor : file.tensors()) {
        sources.push_back(tensor_source(tensor.name, view_tensor(file, tensor).clone()));
      }
    }
    change(sources);
    formats::write_safetensors(dir / "model.safetensors", std::move(sources));
  }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
};

TEST_F(ModelDir, ASignalEndsLoading) {
  save_model(make_random_transformer(tiny(Variant::rope)), folder_ / "model");
  const InterruptScope scope;
  EXPECT_NO_THROW(load_model(folder_ / "model", log_));
  EXPECT_NO_THROW(load_quantised_model(folder_ / "model", log_));
  ::raise(SIGTERM);
  EXPECT_THROW(load_model(folder_ / "model", log_), Interrupted);
  EXPECT_THROW(load_quantised_model(folder_ / "model", log_), Interrupted);
}

TEST_F(ModelDir, RoundTripIsBitIdenticalForAllVariants) {
  for (const VariantTraits& variant : kVariants) {
    const fs::path dir = folder_ / std::string(variant.name);
    const Transformer model = make_random_transformer(tiny(variant.variant));
    save_model(model, dir);
    const Transformer loaded = load_model(dir, log_);
    EXPECT_EQ(config_to_json(loaded.config), config_to_json(model.config));
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      EXPECT_TRUE(at::equal(loaded.parameters[i].value, model.parameters[i].value)) << model.parameters[i].spec.name;
    }
    save_model(loaded, dir.string() + "_again");
    EXPECT_EQ(read_file(dir / "model.safetensors"), read_file(dir.string() + "_again/model.safetensors"));
  }
}

TEST_F(ModelDir, AnAnnealedModelRoundTrips) {
  ModelConfig config = tiny(Variant::crope_qkv);
  config.conjugate_scale = 0.3;
  const Transformer model = make_random_transformer(config);
  save_model(model, folder_ / "m");
  const Transformer loaded = load_model(folder_ / "m", log_);
  EXPECT_EQ(config_to_json(loaded.config), config_to_json(config));
  const Tensor ids = at::arange(8, torch::kInt64).unsqueeze(0);
  EXPECT_TRUE(at::equal(logits(loaded, ids), logits(model, ids)));
  const auto file = formats::SafetensorsFile::open(folder_ / "m/model.safetensors");
  EXPECT_EQ(file.at("blocks.0.attention.k.conjugate_b").shape, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(file.find("blocks.0.attention.o.conjugate_a"), nullptr) << "O is dense in crope_qkv";

  // The tensors and the factor belong together.
  config.conjugate_scale.reset();
  write_json(folder_ / "m/config.json", config_to_json(config));
  EXPECT_NE(load_error(folder_ / "m").find("conjugate_a"), std::string::npos) << load_error(folder_ / "m");
}

// On disk a 2x2 block is [[W[2i,2j], W[2i,2j+1]], ...]; in memory its entries are N apart.
TEST_F(ModelDir, DiskHasPairsMemoryHasHalves) {
  const Transformer model = make_random_transformer(tiny(Variant::rope));
  save_model(model, folder_ / "m");
  const auto file = formats::SafetensorsFile::open(folder_ / "m/model.safetensors");
  const Tensor disk = view_tensor(file, "blocks.0.attention.q.weight");
  const Tensor memory = std::get<ops::DenseWeight>(model.blocks[0].attention.qkv[0]).weight;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(disk[2 * i][2 * j].item<float>(), memory[i][j].item<float>());
      EXPECT_EQ(disk[2 * i][2 * j + 1].item<float>(), memory[i][j + 4].item<float>());
      EXPECT_EQ(disk[2 * i + 1][2 * j].item<float>(), memory[i + 4][j].item<float>());
    }
  }
}

// Whether the address lies in a mapping of the file, by the system's own list.
bool is_mapped_from(const void* address, const fs::path& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(fs::canonical(path).string())) continue;
    std::uintptr_t begin = 0, end = 0;
    std::sscanf(line.c_str(), "%zx-%zx", &begin, &end);
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    if (place >= begin && place < end) return true;
  }
  return false;
}

TEST_F(ModelDir, OnlyPermutedTensorsAreCopied) {
  save_model(make_random_transformer(tiny(Variant::crope_all)), folder_ / "m");
  const Transformer model = load_model(folder_ / "m", log_);
  for (const Parameter& parameter : model.parameters) {
    EXPECT_EQ(is_mapped_from(parameter.value.data_ptr(), folder_ / "m/model.safetensors"),
              parameter.spec.paired_dimensions.empty())
        << parameter.spec.name;
  }
}

TEST_F(ModelDir, LoadsOtherTypes) {
  save_model(make_random_transformer(tiny(Variant::crope_all), {}, torch::kBFloat16), folder_ / "m");
  EXPECT_EQ(load_model(folder_ / "m", log_).embedding.scalar_type(), torch::kFloat32);
  EXPECT_EQ(load_model(folder_ / "m", log_, torch::kFloat64).embedding.scalar_type(), torch::kFloat64);
}

TEST_F(ModelDir, ARunDirectoryStandsForItsLatestCheckpoint) {
  save_model(make_random_transformer(tiny(Variant::rope)), folder_ / "run/checkpoints/step_00000005");
  fs::create_directory_symlink("checkpoints/step_00000005", folder_ / "run/latest");
  EXPECT_EQ(load_error(folder_ / "run"), "");
}

TEST_F(ModelDir, WhatIsMissingOrForeignIsNamed) {
  const fs::path dir = folder_ / "m";
  EXPECT_NE(load_error(folder_ / "absent").find("does not exist"), std::string::npos);
  EXPECT_NE(load_error(folder_.path()).find("neither a model directory"), std::string::npos);

  save_model(make_random_transformer(tiny(Variant::rope)), dir);
  rewrite(dir, [](auto& sources) { std::erase_if(sources, [](auto& s) { return s.name == "norm.weight"; }); });
  EXPECT_NE(load_error(dir).find("1 tensor missing: 'norm.weight'"), std::string::npos) << load_error(dir);

  rewrite(dir, [](auto& sources) { sources.push_back(tensor_source("norm.weight", at::ones({9}))); });
  EXPECT_NE(load_error(dir).find("'norm.weight': expected the shape [8], found [9]"), std::string::npos);

  rewrite(dir, [](auto& sources) {
    std::erase_if(sources, [](auto& s) { return s.name == "norm.weight"; });
    sources.push_back(tensor_source("norm.weight", at::ones({8}, torch::kInt32)));
  });
  EXPECT_NE(load_error(dir).find("expected floating-point numbers, found I32"), std::string::npos);

  rewrite(dir, [](auto& sources) {
    std::erase_if(sources, [](auto& s) { return s.name == "norm.weight"; });
    sources.push_back(tensor_source("norm.weight", at::ones({8})));
    sources.push_back(tensor_source("lm_head.weight", at::ones({8})));
  });
  EXPECT_NE(load_error(dir).find("'lm_head.weight'"), std::string::npos) << load_error(dir);

  fs::resize_file(dir / "model.safetensors", 100);
  EXPECT_NE(load_error(dir).find("model.safetensors"), std::string::npos);
  fs::remove(dir / "model.safetensors");
  EXPECT_NE(load_error(dir).find("model.safetensors"), std::string::npos);
  write_file(dir / "config.json", "{");
  EXPECT_NE(load_error(dir).find("config.json: not valid JSON"), std::string::npos);
}

TEST_F(ModelDir, WarnsOfNan) {
  Transformer model = make_random_transformer(tiny(Variant::rope));
  model.norm[3] = NAN;
  save_model(model, folder_ / "m");
  std::FILE* stream = std::tmpfile();
  Log log(stream, /*is_terminal=*/false);
  load_model(folder_ / "m", log);
  std::string text(static_cast<std::size_t>(std::ftell(stream)), '\0');
  std::rewind(stream);
  ASSERT_EQ(std::fread(text.data(), 1, text.size(), stream), text.size());
  std::fclose(stream);
  EXPECT_NE(text.find("tensor 'norm.weight' has 1 values that are not finite"), std::string::npos) << text;
}

TEST_F(ModelDir, SaveRefusesAnExistingFolder) {
  const Transformer model = make_random_transformer(tiny(Variant::rope));
  save_model(model, folder_ / "m");
  EXPECT_THROW(save_model(model, folder_ / "m"), Error);
}

TEST_F(ModelDir, AConfigOfFortyThousandKeysIsRefused) {
  Json config = config_to_json(tiny(Variant::rope));
  std::string text = config.dump();
  text.pop_back();
  for (int i = 0; i < 40'000; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  write_file(folder_ / "config.json", text + "}");
  try {
    load_config(folder_.path());
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("more than 4096 keys"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace crope::model
