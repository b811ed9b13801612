// crope import: a model from Hugging Face or llama.cpp.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/interop/gguf_import.h"
#include "crope/interop/hf_import.h"
#include "crope/model/model_dir.h"

namespace crope::cli {
namespace {

struct ImportFlags {
  std::string source;
  std::string out;
  std::string weights = "fp32";
  bool json = false;
};

void import_model(const ImportFlags& flags, Log& log) {
  if (flags.weights != "fp32" && flags.weights != "bf16" && flags.weights != "kept") {
    throw UsageError(fmt::format("--weights: expected fp32, bf16 or kept, got '{}'", flags.weights));
  }
  const torch::ScalarType type = flags.weights == "bf16" ? torch::kBFloat16 : torch::kFloat32;
  if (std::filesystem::is_directory(flags.source)) {
    if (flags.weights != "fp32") throw UsageError("--weights: a Hugging Face directory is read into fp32");
    interop::import_hf(flags.source, flags.out, log);
  } else if (flags.source.ends_with(".gguf") && flags.weights == "kept") {
    interop::import_gguf_blocks(flags.source, flags.out, log);
  } else if (flags.source.ends_with(".gguf")) {
    interop::import_gguf(flags.source, flags.out, type, log);
  } else if (!std::filesystem::exists(flags.source)) {
    throw Error(fmt::format("{} does not exist", flags.source), "check the path");
  } else {
    throw Error(fmt::format("{}: expected a folder or a file whose name ends with .gguf", flags.source),
                "a Hugging Face model is the folder with its config.json");
  }
}

void run(const ImportFlags& flags) {
  Log log(stderr);
  import_model(flags, log);
  const model::ModelConfig config = model::load_config(flags.out);
  const std::int64_t parameters = model::count_parameters(config).total();
  if (flags.json) {
    const Json json = {{"directory", flags.out}, {"config", model::config_to_json(config)}, {"parameters", parameters}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("wrote {}: variant {}, {} parameters\n", flags.out, model::traits(config.variant).name, parameters);
}

void declare_import(Flags& flags) {
  const auto values = std::make_shared<ImportFlags>();
  flags.positional("source", values->source,
                   "A Hugging Face directory (config.json and safetensors), or a GGUF file (the first of several)");
  flags.positional("out", values->out, "Model directory to create");
  flags.option(
      "--weights", values->weights,
      "Type of the written weights of a GGUF file: fp32, bf16 or kept (its Q8_0, Q4_0 and Q4_1 blocks as they are)");
  flags.option("--json", values->json, "Print one JSON object instead of text");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kImportCommand = {"import", "Read a Qwen3 or Llama model from Hugging Face's format or from GGUF",
                                "crope import model.gguf out/model", declare_import};

}  // namespace crope::cli
