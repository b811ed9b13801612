#include "crope/train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/memory.h"
#include "crope/base/progress.h"
#include "crope/base/statistics.h"
#include "crope/base/stopwatch.h"
#include "crope/dist/agreement.h"
#include "crope/dist/data_parallel.h"
#include "crope/model/cost.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/ops/device.h"
#include "crope/optim/grad_clip.h"
#include "crope/run/metrics_log.h"
#include "crope/run/run_dir.h"
#include "crope/text/tokenizer.h"
#include "crope/train/deterministic.h"
#include "crope/train/gemm_peak.h"
#include "crope/train/memory_need.h"
#include "crope/train/run_products.h"
#include "crope/train/sample.h"
#include "crope/train/starting_model.h"
#include "crope/train/teacher.h"
#include "crope/train/train_state.h"
#include "crope/train/train_step.h"

namespace crope::train {
namespace fs = std::filesystem;
namespace {

class Trainer {
 public:
  Trainer(const TrainJob& job, Log& log, const std::shared_ptr<dist::ProcessGroup>& group)
      : job_(job),
        config_(job.config),
        log_(log),
        group_(group),
        stop_vote_(*group),
        deterministic_(torch::Device(job.config.device), job.config.deterministic) {
    at::set_num_threads(static_cast<int>(config_.threads));
    data::DataDir data;
    dist::run_on_all_ranks(*group_, [&] {
      data = data::open_data_dir(job.data);
      if (group_->is_first()) {
        make_folder(job.run);
        lock_.emplace(job.run, "trains");
        if (!lock_->warning().empty()) log_.warn(lock_->warning());
      }
      if (fs::exists(job.run / run::kRecordFile)) check_recorded_data(job, data);
      open_data(data);
      require_training_memory(job);
      teacher_ = load_teacher(job.teacher, config_.device, log_);
    });
    use_products_of_run(job.program, *group_, log_);
    restore_or_begin();
    if (model_->config.conjugate_scale && config_.conjugate_steps > config_.steps) {
      log_.warn(fmt::format("the run ends at step {} with conjugate-linear parts: they are gone at step {} only",
                            config_.steps, config_.conjugate_steps));
    }
    dist::check_same(*group_, parameters_, fmt::format("the parameters at step {}", progress_.step));
    dist::run_on_all_ranks(*group_, [&] {
      if (group_->is_first() && progress_.best) run::mend_best_link(job.run, progress_.best->step);
      if (!group_->is_first() || is_finished()) return;
      write_run_record(job, data);
      metrics_.emplace(job.run / run::kMetricsFile, progress_.step);
      if (metrics_->missing_steps() > 0) {
        log_.warn(fmt::format("{}: the lines of {} of the first {} steps are missing", run::kMetricsFile,
                              metrics_->missing_steps(), progress_.step));
      }
    });
  }

  TrainSummary run() {
    if (progress_.step > config_.steps) {
      log_.warn(fmt::format("{} has already reached step {}: {} steps need no more training", job_.run.string(),
                            progress_.step, config_.steps));
    }
    if (!is_finished()) train_on();
    summary_.step = progress_.step;
    summary_.finished = is_finished();
    summary_.parameters = model::count_parameters(model_->config).total();
    summary_.tokens = progress_.tokens;
    summary_.elapsed_s = progress_.elapsed_s;
    summary_.tokens_per_second = median_rate();
    summary_.peak_memory = peak_memory();
    for (const std::string& bytes : group_->gather(std::to_string(optimizer_->state_bytes()))) {
      summary_.optimizer_bytes = std::max<std::uint64_t>(summary_.optimizer_bytes, std::stoull(bytes));
    }
    return summary_;
  }

 private:
  bool is_finished() const { return progress_.step >= config_.steps; }

  void open_data(const data::DataDir& data) {
    const std::int64_t V = job_.model.vocab_size, T = config_.seq_len;
    if (data.train.empty()) throw Error(fmt::format("{}: there is no training part", data.path.string()));
    const auto rows = std::make_shared<data::TokenRows>(data.train, T, V);
    loader_ = std::make_unique<data::TokenLoader>(
        rows, data::LoaderOptions{.batch_rows = config_.batch_size,
                                  .rank = group_->rank(),
                                  .world_size = group_->size(),
                                  .order = config_.data_order,
                                  .seed = static_cast<std::uint64_t>(config_.seed)});
    if (fs::exists(data.path / text::kTokenizerFile)) tokenizer_ = data.path / text::kTokenizerFile;
    if (config_.validate_every == 0) return;
    const ValidationOptions options{
        .seq_len = T, .rows = config_.validation_rows, .micro_batch_size = config_.micro_batch_size};
    try {
      validation_.emplace(data, V, options);
    } catch (const Error& e) {
      log_.warn(fmt::format("no validation: {}", e.what()));
    }
    for (const OtherText& text : job_.validate_also) {
      const data::DataDir other = held_out_text(data::open_data_dir(text.data));
      other_validations_.emplace_back(text.name, Validation(other, V, options));
      // Without dataset.json nothing says that the ids fit, and the text is first read after the last step.
      if (!other.info) other_validations_.back().second.check_ids();
    }
  }

  // The newest checkpoint that is whole for every rank, or a new model where there is none at all. Throws Error if
  // there are some and none is whole: to begin again would overwrite what may still be saved.
  void restore_or_begin() {
    const std::vector<std::int64_t> candidates = agreed_candidates();
    std::vector<std::string> rejected;
    for (const std::int64_t step : candidates) {
      const fs::path path = run::checkpoint_path(job_.run, step);
      std::string message;
      if (dist::all_succeed(
              *group_, [&] { restore(path); }, message)) {
        if (!rejected.empty()) {
          log_.warn(fmt::format("rejected {}; resuming from {} instead", fmt::join(rejected, ", "), path.string()));
        }
        log_.info(fmt::format("resuming from step {} ({})", progress_.step, path.string()));
        return;
      }
      rejected.push_back(path.string());
      log_.warn(fmt::format("the checkpoint {} cannot be used: {}", path.string(), message));
      progress_ = {};
      saved_step_ = 0;
    }
    if (!candidates.empty()) {
      throw Error(fmt::format("{}: none of its {} checkpoints can be used", job_.run.string(), candidates.size()),
                  "put a good one back in its place, or remove the folder 'checkpoints' to begin again");
    }
    const bool has_record = fs::exists(job_.run / run::kRecordFile);
    log_.info(fmt::format("no {} in {} yet: starting {} {} run", has_record ? "checkpoint" : "run", job_.run.string(),
                          has_record ? "again from step 0 the" : "a new", model::traits(job_.model.variant).name));
    dist::run_on_all_ranks(*group_, [&] { begin(make_starting_model(job_, log_)); });
  }

  // As the first rank sees them.
  std::vector<std::int64_t> agreed_candidates() {
    Json steps = Json::array();
    if (group_->is_first()) {
      for (const run::Checkpoint& checkpoint : run::resume_candidates(job_.run)) steps.push_back(checkpoint.step);
    }
    return parse_json(group_->gather(steps.dump()).front(), "checkpoints").get<std::vector<std::int64_t>>();
  }

  void begin(model::Transformer model) {
    reducer_.reset();
    parameters_.clear();
    model_ = std::make_unique<model::Transformer>(std::move(model));
    model::set_requires_grad(*model_, true);
    optimizer_ = std::make_unique<Optimizer>(*model_, optimizer_options(config_), group_);
    for (const model::Parameter& parameter : model_->parameters) parameters_.push_back(parameter.value);
    reducer_ = std::make_unique<dist::GradientReducer>(group_, parameters_);
  }

  void restore(const fs::path& checkpoint) {
    LoadedCheckpoint loaded = load_checkpoint(checkpoint, log_, torch::Device(config_.device));
    begin(std::move(loaded.model));
    load_optimizer_state(checkpoint, *optimizer_);
    loader_->restore(loaded.progress.loader);
    progress_ = loaded.progress;
    saved_step_ = progress_.step;
  }

  void train_on() {
    const double peak =
        measure_gemm_peak(torch::Device(config_.device), scalar_type(config_.precision)) * group_->size();
    const double flops_per_token = model::cost_per_token(model_->config, config_.seq_len).training_flops;
    Progress line(log_, {.label = "train",
                         .unit = "steps",
                         .total = static_cast<std::uint64_t>(config_.steps),
                         .first = static_cast<std::uint64_t>(progress_.step)});
    while (progress_.step < config_.steps) {
      const Stopwatch watch;
      const double elapsed_before = progress_.elapsed_s;
      if (!update(watch)) {
        save();
        return;
      }
      line.update(static_cast<std::uint64_t>(progress_.step),
                  fmt::format("loss {:.4f}, lr {:.2e}, {} tokens/s, {:.0f}% of the GEMM peak", *summary_.loss,
                              learning_rate(schedule_of(config_), progress_.step - 1), format_count(rates_.back()),
                              100 * rates_.back() * flops_per_token / peak));
      const bool is_last = progress_.step == config_.steps;
      if (validation_is_due(config_, progress_.step)) validate(is_last);
      progress_.elapsed_s = elapsed_before + watch.seconds();
      if (is_due(config_.checkpoint_every) || is_last || conjugates_removed_) save();
      if (conjugates_removed_ && !is_last) reload();
    }
  }

  bool is_due(std::int64_t every) const { return every > 0 && progress_.step % every == 0; }

  // One update and its line of metrics. False if a signal came before it was finished; nothing has changed then.
  bool update(const Stopwatch& watch) {
    data::TokenBatch batch = loader_->next();
    // Off the CPU a step is short, and every answer that is read waits for the device: several ranks ask once a step.
    const bool asks_once = group_->size() > 1 && ops::prefers_few_launches(model_->embedding);
    bool has_asked = false;
    const auto stop = [&] {
      if (asks_once && has_asked) return false;
      has_asked = true;
      return stop_vote_.ask(interrupt_requested());
    };
    StepOptions options = step_options(config_);
    if (teacher_) options.teacher = &*teacher_;
    const auto loss = compute_gradients(*model_, batch, options, stop, *group_, *reducer_);
    if (!loss) return false;
    const double norm = config_.grad_clip > 0 ? optim::clip_gradient_norm(parameters_, config_.grad_clip)
                                              : optim::gradient_norm(parameters_);
    const double lr = learning_rate(schedule_of(config_), progress_.step);
    TrainProgress next = progress_;
    next.step += 1;
    next.tokens += static_cast<std::uint64_t>(config_.batch_size * config_.seq_len);
    const auto log_step = [&] {
      const double seconds = watch.seconds();
      next.elapsed_s += seconds;
      rates_.push_back(static_cast<double>(next.tokens - progress_.tokens) / seconds);
      Json line = {{"step", next.step},
                   {"tokens", next.tokens},
                   {"loss", *loss},
                   {"lr", lr},
                   {"grad_norm", norm},
                   {"tokens_per_second", rates_.back()},
                   {"elapsed_s", next.elapsed_s}};
      if (model_->config.conjugate_scale) line["conjugate_scale"] = *model_->config.conjugate_scale;
      write_metrics(line);
    };
    if (!std::isfinite(*loss) || !std::isfinite(norm)) {
      log_step();  // with null for what is not finite; a run that resumes drops the line
      fail_not_finite(*loss, norm);
    }
    optimizer_->step(lr);
    log_step();
    next.loader = loader_->state();
    progress_ = next;
    fade_conjugates();
    summary_.loss = loss;
    return true;
  }

  // Lets the conjugate-linear parts fade linearly. The factor follows from the one before, so that a resumed run needs
  // nothing but its checkpoint.
  void fade_conjugates() {
    if (!model_->config.conjugate_scale || config_.conjugate_steps == 0) return;
    const std::int64_t left = config_.conjugate_steps - progress_.step;
    if (left > 0) {
      const double share = static_cast<double>(left) / static_cast<double>(left + 1);
      model::set_conjugate_scale(*model_, *model_->config.conjugate_scale * share);
      return;
    }
    *model_ = model::without_conjugates(*model_);
    conjugates_removed_ = true;
  }

  // Continues from the checkpoint of this step, as a resumed run would: the optimiser holds no state of the parts that
  // were removed, and ranks share its work anew.
  void reload() {
    conjugates_removed_ = false;
    dist::run_on_all_ranks(*group_, [&] { restore(run::checkpoint_path(job_.run, progress_.step)); });
    log_.info(fmt::format("step {}: the conjugate-linear parts are removed", progress_.step));
  }

  void write_metrics(const Json& line) {
    if (metrics_) metrics_->write(line);
  }

  [[noreturn]] void fail_not_finite(double loss, double norm) const {
    throw Error(fmt::format("step {}: the {} is {}; the weights were not updated", progress_.step + 1,
                            std::isfinite(loss) ? "gradient's norm" : "loss", std::isfinite(loss) ? norm : loss),
                saved_step_ > 0 ? fmt::format("the last good checkpoint is {}; try a smaller lr, or grad_clip 1",
                                              run::checkpoint_path(job_.run, saved_step_).string())
                                : "there is no checkpoint yet; try a smaller lr, or grad_clip 1");
  }

  // One line of metrics: the loss on the data's own validation part, if it has one, and at the last step the loss on
  // every other text.
  void validate(bool is_last) {
    const bool has_others = is_last && !other_validations_.empty();
    if (!validation_ && !has_others) return;
    const auto measure = [&](const Validation& validation) {
      const PrecisionScope scope(step_options(config_).precision, model_->embedding.device());
      return validation.run(*model_, *group_);
    };
    Json line = {{"step", progress_.step}};
    std::vector<std::string> words;
    if (validation_) {
      const ValidationResult result = measure(*validation_);
      line["val_loss"] = result.loss;
      words.push_back(fmt::format("validation loss {:.4f}", result.loss));
      if (result.bits_per_byte) {
        line["bits_per_byte"] = *result.bits_per_byte;
        words.push_back(fmt::format("{:.4f} bits per byte", *result.bits_per_byte));
      }
      summary_.validation = result;
      validated_step_ = progress_.step;
    }
    for (const auto& [name, validation] : other_validations_) {
      if (!has_others) break;
      const double loss = measure(validation).loss;
      line["val_loss_" + name] = loss;
      words.push_back(fmt::format("{} {:.4f}", name, loss));
      summary_.other_losses.emplace_back(name, loss);
    }
    write_metrics(line);
    log_.info(fmt::format("step {}: {}", progress_.step, fmt::join(words, ", ")));
    if (group_->is_first()) show_sample();
  }

  void show_sample() const {
    if (config_.sample_tokens == 0 || tokenizer_.empty() || !model_->embedding.is_cpu()) return;
    const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_);
    const auto seed = static_cast<std::uint64_t>(progress_.step);
    log_.info("  it writes: " + sample_line(*model_, tokenizer, config_.sample_tokens, seed));
  }

  void save() {
    if (progress_.step == saved_step_) return;
    const bool is_best =
        validated_step_ == progress_.step && (!progress_.best || summary_.validation->loss < progress_.best->val_loss);
    if (is_best) progress_.best = {progress_.step, summary_.validation->loss};
    save_checkpoint(job_.run, *model_, *optimizer_, progress_, tokenizer_, *group_);
    saved_step_ = progress_.step;
    dist::run_on_all_ranks(*group_, [&] {
      if (!group_->is_first()) return;
      metrics_->flush();  // the lines of a step are on disk before anybody resumes behind it
      run::link_checkpoint(job_.run, run::kLatestLink, progress_.step);
      if (is_best) run::link_checkpoint(job_.run, run::kBestLink, progress_.step);
      const auto best = progress_.best ? std::optional(progress_.best->step) : std::nullopt;
      for (const std::string& failure :
           run::prune_checkpoints(job_.run, progress_.step, config_.keep_checkpoints, best)) {
        log_.warn(failure);
      }
    });
  }

  double median_rate() const { return rates_.empty() ? 0 : median(rates_); }

  const TrainJob& job_;
  const TrainConfig& config_;
  Log& log_;
  std::shared_ptr<dist::ProcessGroup> group_;
  dist::Vote stop_vote_;
  DeterministicScope deterministic_;
  std::optional<DirectoryLock> lock_;  // of the first rank
  fs::path tokenizer_;
  std::unique_ptr<data::TokenLoader> loader_;
  std::optional<Validation> validation_;
  std::vector<std::pair<std::string, Validation>> other_validations_;
  std::unique_ptr<model::Transformer> model_;
  std::optional<model::Transformer> teacher_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<dist::GradientReducer> reducer_;
  std::optional<run::MetricsLog> metrics_;  // of the first rank
  TrainProgress progress_;
  TrainSummary summary_;
  std::vector<double> rates_;  // tokens a second of every step of this process
  std::int64_t saved_step_ = 0;
  std::int64_t validated_step_ = 0;
  bool conjugates_removed_ = false;  // since the last checkpoint
};

}  // namespace

TrainSummary train(const TrainJob& job, Log& log, const std::shared_ptr<dist::ProcessGroup>& group) {
  return Trainer(job, log, group).run();
}

}  // namespace crope::train
