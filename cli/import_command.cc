// crope import: a model from Hugging Face.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/interop/hf_import.h"
#include "crope/model/model_dir.h"

namespace crope::cli {
namespace {

struct ImportFlags {
  std::string hf_dir;
  std::string out;
  bool json = false;
};

void run(const ImportFlags& flags) {
  Log log(stderr);
  interop::import_hf(flags.hf_dir, flags.out, log);
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
  flags.positional("hf_dir", values->hf_dir, "A Hugging Face directory: config.json and safetensors");
  flags.positional("out", values->out, "The model directory to make");
  flags.option("--json", values->json, "Print one JSON object instead of text");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kImportCommand = {"import", "Read a Qwen3 or Llama model from Hugging Face's format",
                                "crope import out/hf out/model", declare_import};

}  // namespace crope::cli
