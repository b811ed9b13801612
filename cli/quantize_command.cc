// crope quantize: a model with weights of fewer bits.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/generation_flags.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/base/memory.h"
#include "crope/base/threads.h"
#include "crope/infer/calibration.h"
#include "crope/model/model_dir.h"

namespace crope::cli {
namespace {

constexpr std::uint64_t kLongestText = std::uint64_t{1} << 28;

struct QuantizeFlags {
  std::string dir;
  std::string out;
  std::string weights;
  std::string calibrate;
  int threads = 0;
  bool json = false;
};

// What calibration was worth, on text that it did not see: nats per token.
struct CalibrationGain {
  std::int64_t tokens, held_out_tokens;
  double original, plain, calibrated;
};

struct Quantised {
  model::Transformer model;
  std::optional<CalibrationGain> gain = {};
};

Quantised calibrated(const QuantizeFlags& flags, Log& log) {
  const model::LanguageModel source = model::load_language_model(flags.dir, log, ops::WeightType::fp32);
  const std::string text = read_file(flags.calibrate, kLongestText);
  const infer::CalibrationText cut = infer::cut_calibration_text(source.encode(text, flags.calibrate), source.window());
  log.info(fmt::format("calibrating on {} tokens; {} are held out", cut.tokens(), cut.held_out_tokens()));
  Quantised result{model::quantise_for(source.model, infer::measure_input_moments(source.model, cut.windows))};
  result.gain = {.tokens = cut.tokens(),
                 .held_out_tokens = cut.held_out_tokens(),
                 .original = infer::mean_loss(source.model, cut.held_out),
                 .plain = infer::mean_loss(model::quantise(source.model, ops::WeightType::int4), cut.held_out),
                 .calibrated = infer::mean_loss(result.model, cut.held_out)};
  return result;
}

Quantised quantised(const QuantizeFlags& flags, ops::WeightType type, Log& log) {
  if (!flags.calibrate.empty()) return calibrated(flags, log);
  return {model::load_language_model(flags.dir, log, type).model};
}

ops::WeightType target_type(const QuantizeFlags& flags) {
  const auto type = Choice<ops::WeightType>::by_name(flags.weights, "--weights");
  if (type == ops::WeightType::fp32) {
    throw UsageError(
        "--weights: expected bf16, int8 or int4, got 'fp32'",
        "commands that need fp32 widen a quantised model themselves: crope export, crope train --init-from");
  }
  if (!flags.calibrate.empty() && type != ops::WeightType::int4) {
    throw UsageError(fmt::format("--calibrate rounds to int4, and --weights is {}", flags.weights),
                     "omit --calibrate: bf16 and int8 are nearly exact");
  }
  return type;
}

void run(const QuantizeFlags& flags) {
  const ops::WeightType type = target_type(flags);
  at::set_num_threads(resolve_thread_count(flags.threads));
  Log log(stderr);
  const InterruptScope interrupts;
  const std::filesystem::path source = model::resolve_model_dir(flags.dir);
  AtomicDirectory directory(flags.out);
  const Quantised result = quantised(flags, type, log);
  model::save_model_files(result.model, directory.working_path());
  model::copy_text_files(source, directory.working_path());
  directory.commit();

  const auto bytes = std::filesystem::file_size(std::filesystem::path(flags.out) / model::kWeightsFile);
  const auto before = std::filesystem::file_size(source / model::kWeightsFile);
  if (flags.json) {
    Json json = {{"directory", flags.out}, {"weights", flags.weights}, {"bytes", bytes}, {"bytes_before", before}};
    if (result.gain) {
      json["calibration"] = {{"tokens", result.gain->tokens},
                             {"held_out_tokens", result.gain->held_out_tokens},
                             {"loss_before", result.gain->original},
                             {"loss_without_calibration", result.gain->plain},
                             {"loss", result.gain->calibrated}};
    }
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("wrote {}: {} of weights instead of {}\n", flags.out, format_bytes(static_cast<double>(bytes)),
             format_bytes(static_cast<double>(before)));
  if (!result.gain) return;
  fmt::print("loss on {} held-out tokens of {}\n", result.gain->held_out_tokens, flags.calibrate);
  fmt::print("  {:<24}{:.4f}\n  {:<24}{:.4f}\n  {:<24}{:.4f}\n", "before", result.gain->original, "int4",
             result.gain->plain, "int4, calibrated", result.gain->calibrated);
}

void declare_quantize(Flags& flags) {
  const auto values = std::make_shared<QuantizeFlags>();
  flags.positional("dir", values->dir, "A model or run directory");
  flags.positional("out", values->out, "Model directory to create");
  flags.option("--weights", values->weights, "Type of the written matrices: int8, int4 or bf16");
  flags.require("--weights");
  flags.option("--calibrate", values->calibrate, "Text file; int4 weights are fitted to the model's activations on it");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of text");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kQuantizeCommand = {"quantize", "Save a model with weights of 16, 8 or 4 bits",
                                  "crope quantize out/model out/int4 --weights int4 --calibrate text.txt",
                                  declare_quantize};

}  // namespace crope::cli
