// A corpus and a model so small that a run takes a moment.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/base/random.h"
#include "crope/formats/token_shard.h"
#include "crope/train/trainer.h"
#include "tests/temporary_folder.h"

namespace crope::train {

inline void write_shard(const std::filesystem::path& path, int tokens, std::uint64_t seed) {
  std::vector<std::int32_t> ids;
  RandomStream random(seed, "tokens");
  // Each token is the one before it plus a little: something to learn.
  for (std::int32_t id = 0; static_cast<int>(ids.size()) < tokens;) {
    id = (id + 1 + static_cast<std::int32_t>(random.below(3))) % 50;
    ids.push_back(id);
  }
  formats::TokenShardWriter writer(path, formats::TokenWidth::u16);
  writer.append(ids);
  writer.commit();
}

class TinyRun {
 public:
  TinyRun() {
    std::filesystem::create_directory(data());
    write_shard(data() / "train_000000.bin", 4000, 1);
    write_shard(data() / "val_000000.bin", 300, 2);
  }

  std::filesystem::path data() const { return folder_ / "data"; }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  // The request of a small run, with some settings of its own.
  JobRequest request(const std::string& run, const Settings& settings = Json::object()) const {
    Settings given = {{"vocab_size", 50}, {"num_layers", 1},     {"num_heads", 2},        {"d_model", 16},
                      {"d_ff", 16},       {"steps", 12},         {"batch_size", 4},       {"micro_batch_size", 3},
                      {"seq_len", 8},     {"lr", 0.01},          {"min_lr", 0.001},       {"warmup_steps", 2},
                      {"threads", 1},     {"precision", "fp32"}, {"checkpoint_every", 4}, {"validate_every", 4}};
    given.update(settings);
    return {.given = given, .run = path(run), .data = data(), .init_from = {}, .program = {{"version", "test"}}};
  }

  TrainSummary run(const std::string& name, const Settings& settings = Json::object()) {
    return train(resolve_job(request(name, settings)), log);
  }

  Log log{nullptr};

 private:
  test::TemporaryFolder folder_;
};

}  // namespace crope::train
