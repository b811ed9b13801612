// The settings of a training run: one list of fields for flags, recipes, run.json and the comparison of two runs.
#pragma once

#include <cstdint>
#include <string>

#include "crope/base/json.h"
#include "crope/model/config.h"
#include "crope/model/init.h"
#include "crope/optim/schedule.h"
#include "crope/train/optimizer.h"

namespace crope::train {

// The defaults are the paper's, and where it is silent, our choice (docs/training.md).
struct TrainConfig {
  std::int64_t steps = 30'000;
  std::int64_t batch_size = 64;
  std::int64_t seq_len = 512;
  double lr = 2e-3;
  double min_lr = 4e-4;
  std::int64_t warmup_steps = 50;
  std::string schedule = "cosine";
  double decay_share = 0.2;
  double weight_decay = 0.1;
  double momentum = 0.95;
  std::int64_t newton_schulz_steps = 5;
  std::string muon_lr = "match_rms_adamw";
  std::string muon_tied = "complex";
  std::string muon_precision = "fp32";
  double beta1 = 0.9;
  double beta2 = 0.95;
  double adam_eps = 1e-8;
  double grad_clip = 0;
  double embedding_std = 0.02;
  double projection_gain = 1;
  std::int64_t seed = 0;
  std::string data_order = "shuffled";
  std::string precision = "auto";
  std::int64_t micro_batch_size = 0;
  bool recompute = false;
  std::string device = "cpu";
  std::int64_t threads = 0;
  std::int64_t checkpoint_every = 500;
  std::int64_t keep_checkpoints = 3;
  std::int64_t validate_every = 250;
  std::int64_t validation_rows = 64;
  std::int64_t sample_tokens = 32;
};

// Whether another value makes another run, or the same run carried out in another way.
enum class FieldKind { of_the_run, of_its_conduct };

// Calls visit(name, member, kind, help) for every field.
template <typename Config, typename Visit>
void visit_train_fields(Config& c, const Visit& visit) {
  constexpr FieldKind run = FieldKind::of_the_run, conduct = FieldKind::of_its_conduct;
  visit("steps", c.steps, conduct, "Updates in all; a larger number extends a run");
  visit("batch_size", c.batch_size, run, "Rows of one update, over all ranks");
  visit("seq_len", c.seq_len, run, "Tokens that a row predicts");
  visit("lr", c.lr, run, "Highest learning rate");
  visit("min_lr", c.min_lr, run, "Learning rate at the end");
  visit("warmup_steps", c.warmup_steps, run, "Steps of linear warm-up");
  visit("schedule", c.schedule, run, "cosine, constant or wsd (warm-up, stable, decay)");
  visit("decay_share", c.decay_share, run, "Of wsd: the share of the steps in which the rate falls");
  visit("weight_decay", c.weight_decay, run, "Of matrices and embedding; gains have none");
  visit("momentum", c.momentum, run, "Of Muon");
  visit("newton_schulz_steps", c.newton_schulz_steps, run, "Iterations of Muon's orthogonalisation");
  visit("muon_lr", c.muon_lr, run, "How Muon's rate follows a matrix's shape: match_rms_adamw or original");
  visit("muon_tied", c.muon_tied, run, "What a tied pair is to Muon: complex (one matrix) or separate (two)");
  visit("muon_precision", c.muon_precision, run, "Arithmetic of the orthogonalisation: fp32 or bf16");
  visit("beta1", c.beta1, run, "Of AdamW");
  visit("beta2", c.beta2, run, "Of AdamW");
  visit("adam_eps", c.adam_eps, run, "Of AdamW");
  visit("grad_clip", c.grad_clip, run, "Largest norm of the gradient; 0 does not clip");
  visit("embedding_std", c.embedding_std, run, "Standard deviation of the embedding at the start");
  visit("projection_gain", c.projection_gain, run, "Of every projection at the start: this over the root of its width");
  visit("seed", c.seed, run, "Of the weights and the order of the data");
  visit("data_order", c.data_order, run, "shuffled or sequential");
  visit("precision", c.precision, run, "fp32, bf16 (autocast), or auto: bf16 where the hardware computes in it");
  visit("micro_batch_size", c.micro_batch_size, conduct, "Rows computed at once; 0 takes about 2,048 tokens");
  visit("recompute", c.recompute, conduct, "Compute activations again in the backward pass: less memory, more time");
  visit("device", c.device, conduct, "cpu, cuda or cuda:N");
  visit("threads", c.threads, conduct, "0 takes all processors");
  visit("checkpoint_every", c.checkpoint_every, conduct, "Steps between checkpoints; 0 saves the last step only");
  visit("keep_checkpoints", c.keep_checkpoints, conduct, "How many of the newest stay, beside the best; 0 keeps all");
  visit("validate_every", c.validate_every, conduct, "Steps between validations; 0 never validates");
  visit("validation_rows", c.validation_rows, conduct, "Rows of the fixed validation set; 0 takes all");
  visit("sample_tokens", c.sample_tokens, conduct, "Tokens of the sample shown at each validation; 0 shows none");
}

// Throws UsageError naming the field for anything that cannot be trained with. REQUIRES: nothing.
void validate(const TrainConfig& config);

// bf16 where the device computes in it, fp32 elsewhere; what is not "auto" stays.
std::string resolve_precision(const std::string& precision, const std::string& device);

optim::Schedule schedule_of(const TrainConfig& config);
OptimizerOptions optimizer_options(const TrainConfig& config);
model::InitOptions init_options(const TrainConfig& config);

// A flat object with the fields of a model (config.h) and of a run, all or some: what recipes and flags give.
using Settings = Json;

// Puts the given settings in place of the values in `model` and `config`. `origin` stands in messages.
// Throws UsageError with the nearest name for a key that there is not, Error for a value of another type.
void apply_settings(const Settings& given, model::ModelConfig& model, TrainConfig& config, std::string_view origin);

// All of them.
Settings settings_of(const model::ModelConfig& model, const TrainConfig& config);

// Of `given`, those that differ from `recorded` and make another run, as "lr: 0.002 there, 0.001 asked for".
std::vector<std::string> conflicts(const Settings& recorded, const Settings& given);

}  // namespace crope::train
