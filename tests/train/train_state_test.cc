#include "crope/train/train_state.h"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/json.h"
#include "crope/model/init.h"
#include "crope/run/run_dir.h"
#include "tests/temporary_folder.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;

class TrainState : public testing::Test {
 protected:
  TrainState() {
    const at::NoGradGuard no_grad;
    for (const NamedState& state : optimizer_.state()) torch::Tensor(state.value).normal_();
    optimizer_.set_steps(5);
  }

  fs::path checkpoint() const { return run::checkpoint_path(folder_.path(), 5); }

  test::TemporaryFolder folder_;
  Log log_{nullptr};
  model::Transformer model_ = model::make_random_transformer({.vocab_size = 11,
                                                              .num_layers = 1,
                                                              .num_heads = 2,
                                                              .d_model = 8,
                                                              .d_ff = 8,
                                                              .variant = model::Variant::crope_qk});
  Optimizer optimizer_{model_};
  TrainProgress progress_{.step = 5,
                          .tokens = 1234,
                          .elapsed_s = 1.5,
                          .loader = {.position = 20, .seed = 3, .corpus_tokens = 100, .seq_len = 4},
                          .best = BestValidation{4, 2.25}};
};

TEST_F(TrainState, ComesBackAsItWas) {
  save_checkpoint(folder_.path(), model_, optimizer_, progress_, {});
  const LoadedCheckpoint loaded = load_checkpoint(checkpoint(), log_);
  EXPECT_EQ(loaded.progress.step, 5);
  EXPECT_EQ(loaded.progress.tokens, 1234u);
  EXPECT_EQ(loaded.progress.loader.position, 20u);
  EXPECT_EQ(loaded.progress.best->val_loss, 2.25);
  for (std::size_t i = 0; i < model_.parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(loaded.model.parameters[i].value, model_.parameters[i].value));
  }
  Optimizer second(loaded.model);
  load_optimizer_state(checkpoint(), second);
  EXPECT_EQ(second.steps(), 5);
  const auto one = optimizer_.state(), two = second.state();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i].value, two[i].value)) << one[i].name;
}

TEST_F(TrainState, DamageOfAnyFileIsFound) {
  save_checkpoint(folder_.path(), model_, optimizer_, progress_, {});
  for (const char* name : {"config.json", "model.safetensors", "train_state.safetensors", "train_state.json"}) {
    const std::string good = read_file(checkpoint() / name);
    write_file(checkpoint() / name, good.substr(0, good.size() / 2));
    EXPECT_THROW(load_checkpoint(checkpoint(), log_), Error) << name;
    fs::remove(checkpoint() / name);
    EXPECT_THROW(load_checkpoint(checkpoint(), log_), Error) << name;
    write_file(checkpoint() / name, good);
  }
  EXPECT_NO_THROW(load_checkpoint(checkpoint(), log_));
}

TEST_F(TrainState, ASignalEndsLoadingAndNotSaving) {
  const InterruptScope scope;
  ::raise(SIGTERM);
  save_checkpoint(folder_.path(), model_, optimizer_, progress_, {});
  EXPECT_THROW(load_checkpoint(checkpoint(), log_), Interrupted);
  EXPECT_THROW(load_optimizer_state(checkpoint(), optimizer_), Interrupted);
}

TEST_F(TrainState, AnEditedStateIsRefused) {
  save_checkpoint(folder_.path(), model_, optimizer_, progress_, {});
  const Json good = read_json(checkpoint() / "train_state.json");
  const auto refusal = [&](const std::function<void(Json&)>& change) -> std::string {
    Json state = good;
    change(state);
    write_json(checkpoint() / "train_state.json", state);
    try {
      load_checkpoint(checkpoint(), log_);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(refusal([](Json& state) { state["step"] = 6; }).find("its hash differs"), std::string::npos);
  EXPECT_NE(refusal([](Json& state) { state["loader"]["position"] = 0; }).find("its hash differs"), std::string::npos);
  EXPECT_EQ(refusal([](Json&) {}), "");
  // As version 0.1 wrote it.
  EXPECT_EQ(refusal([](Json& state) { state.erase("state_hash"); }), "");
  EXPECT_NE(refusal([](Json& state) {
              state.erase("state_hash");
              state.erase("tokens");
            }).find("the field 'tokens' is missing"),
            std::string::npos);
}

TEST_F(TrainState, AFailedCheckpointSaysWhatItNeededAndLeavesNothing) {
  write_file(folder_ / "checkpoints", "a file in the way");
  try {
    save_checkpoint(folder_.path(), model_, optimizer_, progress_, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("it needs"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("last good checkpoint"), std::string::npos);
  }
  fs::remove(folder_ / "checkpoints");
  // A tokenizer that is not there fails half-way: after the weights.
  EXPECT_THROW(save_checkpoint(folder_.path(), model_, optimizer_, progress_, folder_ / "absent"), Error);
  EXPECT_TRUE(fs::is_empty(folder_ / "checkpoints"));
}

TEST_F(TrainState, AnotherOptimiserIsRefused) {
  save_checkpoint(folder_.path(), model_, optimizer_, progress_, {});
  const model::Transformer other =
      model::make_random_transformer({.vocab_size = 11, .num_layers = 2, .num_heads = 2, .d_model = 8, .d_ff = 8});
  Optimizer second(other);
  EXPECT_THROW(load_optimizer_state(checkpoint(), second), Error);
}

}  // namespace
}  // namespace crope::train
