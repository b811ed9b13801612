// The settings of a training run: one list of fields for flags, recipes, run.json and the comparison of two runs.
#pragma once

#include <cstdint>
#include <string>

#include "crope/base/choice.h"
#include "crope/data/token_loader.h"
#include "crope/model/config.h"
#include "crope/model/init.h"
#include "crope/ops/linear_distillation.h"
#include "crope/optim/schedule.h"
#include "crope/train/optimizer.h"

namespace crope::train {

// The number type that a run computes in.
enum class Precision {
  automatic,  // fp32 on a CPU, whose fused kernels compute in it; bf16 on other devices
  fp32,
  bf16,
};

}  // namespace crope::train

template <>
struct crope::ChoiceNames<crope::train::Precision> {
  using Kind = train::Precision;
  static constexpr auto kNames =
      choice_names<Kind>({{Kind::automatic, "auto"}, {Kind::fp32, "fp32"}, {Kind::bf16, "bf16"}});
};

namespace crope::train {

// The defaults are the paper's, and where it is silent, our choice (docs/training.md).
struct TrainConfig {
  std::int64_t steps = 30'000;
  std::int64_t batch_size = 64;
  std::int64_t seq_len = 512;
  double lr = 2e-3;
  double min_lr = 4e-4;
  std::int64_t warmup_steps = 50;
  Choice<optim::ScheduleKind> schedule = optim::ScheduleKind::cosine;
  double decay_share = 0.2;
  double weight_decay = 0.1;
  double momentum = 0.95;
  std::int64_t newton_schulz_steps = 5;
  Choice<optim::LrAdjustment> muon_lr = optim::LrAdjustment::match_rms_adamw;
  Choice<TiedPairs> muon_tied = TiedPairs::complex;
  Choice<DenseProjections> muon_dense = DenseProjections::whole;
  Choice<Precision> muon_precision = Precision::fp32;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double adam_eps = 1e-8;
  double grad_clip = 0;
  double embedding_std = 0.02;
  double projection_gain = 1;
  std::int64_t conjugate_steps = 0;
  double teacher_weight = 0.5;
  double temperature = 1;
  std::int64_t teacher_top_k = 0;
  std::int64_t seed = 0;
  Choice<data::RowOrder> data_order = data::RowOrder::shuffled;
  Choice<Precision> precision = Precision::automatic;
  std::int64_t micro_batch_size = 0;
  bool recompute = false;
  std::string device = "auto";
  bool deterministic = false;
  std::int64_t threads = 0;
  std::int64_t checkpoint_every = 500;
  std::int64_t keep_checkpoints = 3;
  std::int64_t validate_every = 250;
  std::int64_t validate_final_steps = 0;
  std::int64_t validate_final_every = 0;
  std::int64_t validation_rows = 64;
  std::int64_t sample_tokens = 32;
};

// Whether another value makes another run (identity), or the same run carried out in another way (runtime).
enum class FieldKind { identity, runtime };

// Calls visit(name, member, kind, help) for every field.
template <typename Config, typename Visit>
void visit_train_fields(Config& c, const Visit& visit) {
  constexpr FieldKind identity = FieldKind::identity, runtime = FieldKind::runtime;
  visit("steps", c.steps, runtime, "Number of updates; a larger number extends a finished run");
  visit("batch_size", c.batch_size, identity, "Rows per update, summed over all ranks");
  visit("seq_len", c.seq_len, identity, "Predicted tokens per row");
  visit("lr", c.lr, identity, "Peak learning rate");
  visit("min_lr", c.min_lr, identity, "Final learning rate");
  visit("warmup_steps", c.warmup_steps, identity, "Number of linear warm-up steps");
  visit("schedule", c.schedule, identity, "cosine, constant or wsd (warm-up, stable, decay)");
  visit("decay_share", c.decay_share, identity, "Share of the steps in which schedule wsd decays the learning rate");
  visit("weight_decay", c.weight_decay, identity,
        "Decoupled weight decay for matrices and the embedding (norm gains are not decayed)");
  visit("momentum", c.momentum, identity, "Muon momentum");
  visit("newton_schulz_steps", c.newton_schulz_steps, identity, "Newton-Schulz iterations per Muon update");
  visit("muon_lr", c.muon_lr, identity,
        "How Muon scales the learning rate by a matrix's shape: match_rms_adamw or original");
  visit("muon_tied", c.muon_tied, identity,
        "How Muon treats a tied pair: complex (one complex matrix) or separate (two real ones)");
  visit("muon_dense", c.muon_dense, identity,
        "How Muon treats an untied attention projection: whole, or quarters (its four real and imaginary blocks)");
  visit("muon_precision", c.muon_precision, identity, "Arithmetic of Newton-Schulz: fp32 or bf16");
  visit("beta1", c.beta1, identity, "AdamW beta1 (first-moment decay)");
  visit("beta2", c.beta2, identity, "AdamW beta2 (second-moment decay)");
  visit("adam_eps", c.adam_eps, identity, "AdamW epsilon");
  visit("grad_clip", c.grad_clip, identity, "Largest gradient norm (0: no clipping)");
  visit("conjugate_steps", c.conjugate_steps, identity,
        "Steps until the conjugate-linear parts of an annealed model have faded out and are removed (0: keep them)");
  visit("teacher_weight", c.teacher_weight, identity,
        "Share of the teacher in the loss, from 0 to 1; the text has the rest");
  visit("temperature", c.temperature, identity, "Temperature of the teacher's and the student's probabilities");
  visit("teacher_top_k", c.teacher_top_k, identity, "Learn only the teacher's k most likely tokens (0: all)");
  visit("embedding_std", c.embedding_std, identity, "Initial standard deviation of the embedding");
  visit("projection_gain", c.projection_gain, identity,
        "Initial standard deviation of a projection times the square root of its fan-in");
  visit("seed", c.seed, identity, "Seed of the initial weights and of the data order");
  visit("data_order", c.data_order, identity, "shuffled or sequential");
  visit("precision", c.precision, identity, "fp32, bf16 (autocast) or auto: fp32 on CPUs, bf16 on GPUs");
  visit("micro_batch_size", c.micro_batch_size, runtime,
        "Rows per forward and backward pass (0: about 2,048 tokens on a CPU, what fits its memory on a GPU)");
  visit("recompute", c.recompute, runtime, "Recompute activations in the backward pass: less memory, more time");
  visit("device", c.device, runtime, "auto (cuda if there is one), cpu, cuda or cuda:N");
  visit("deterministic", c.deterministic, runtime,
        "On a GPU: only operations that give the same bits every time (slower); a CPU always does");
  visit("threads", c.threads, runtime, "Number of threads (0: all processors)");
  visit("checkpoint_every", c.checkpoint_every, runtime, "Steps between checkpoints (0: save the last step only)");
  visit("keep_checkpoints", c.keep_checkpoints, runtime,
        "Number of newest checkpoints to keep beside the best one (0: all)");
  visit("validate_every", c.validate_every, runtime, "Steps between validations (0: never validate)");
  visit("validate_final_steps", c.validate_final_steps, runtime,
        "Number of last steps that are validated at an interval of their own");
  visit("validate_final_every", c.validate_final_every, runtime,
        "Steps between validations within those last steps (0: no change)");
  visit("validation_rows", c.validation_rows, identity,
        "Number of validation rows, the same at every step (0: the whole validation part)");
  visit("sample_tokens", c.sample_tokens, runtime, "Tokens of the sample printed at each validation (0: none)");
}

// Throws UsageError naming the field for anything that cannot be trained with. REQUIRES: nothing.
void validate(const TrainConfig& config);

// The settings of learning from a teacher.
ops::DistillationOptions distillation_options(const TrainConfig& config);

// The precision on this device: fp32 or bf16.
Precision resolve_precision(Precision precision, const std::string& device);

// The tensor type of a resolved precision.
torch::ScalarType scalar_type(Precision precision);

optim::Schedule schedule_of(const TrainConfig& config);
OptimizerOptions optimizer_options(const TrainConfig& config);
model::InitOptions init_options(const TrainConfig& config);

// A flat object with the fields of a model (config.h) and of a run, all or some: what recipes and flags give.
using Settings = Json;

// Puts the given settings in place of the values in `model` and `config`. `origin` names the source in messages.
// Throws UsageError with the nearest name for a key that there is not, Error for a value of another type.
void apply_settings(const Settings& given, model::ModelConfig& model, TrainConfig& config, std::string_view origin);

// All of them.
Settings settings_of(const model::ModelConfig& model, const TrainConfig& config);

// The settings in `given` that differ from `recorded` and make another run, as "lr: recorded 0.002, given 0.001".
std::vector<std::string> conflicts(const Settings& recorded, const Settings& given);

}  // namespace crope::train
