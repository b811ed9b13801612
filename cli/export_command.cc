// crope export: a model for other programs.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/base/nearest_name.h"
#include "crope/base/threads.h"
#include "crope/interop/hf_export.h"

namespace crope::cli {
namespace {

struct ExportFlags {
  std::string dir;
  std::string out;
  std::string format = "hf";
  std::string dtype = "f32";
  int threads = 0;
  bool json = false;
};

torch::ScalarType type_by_name(const std::string& name) {
  if (name == "f32") return torch::kFloat32;
  if (name == "bf16") return torch::kBFloat16;
  if (name == "f16") return torch::kFloat16;
  const std::vector<std::string> names = {"f32", "bf16", "f16"};
  throw UsageError(fmt::format("unknown --dtype '{}'", name), suggest(name, names));
}

void run(const ExportFlags& flags) {
  if (flags.format != "hf") throw UsageError(fmt::format("unknown --format '{}'", flags.format), "there is hf");
  const torch::ScalarType type = type_by_name(flags.dtype);
  at::set_num_threads(resolve_thread_count(flags.threads));
  Log log(stderr);
  const interop::ExportReport report = interop::export_hf(flags.dir, flags.out, type, log);
  if (flags.json) {
    const Json json = {{"directory", report.directory.string()},
                       {"format", flags.format},
                       {"dtype", flags.dtype},
                       {"largest_difference", report.largest_difference},
                       {"largest_logit", report.largest_logit}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("wrote {}\nread back and compared: logits differ by at most {:.3g} (they go up to {:.3g})\n",
             report.directory.string(), report.largest_difference, report.largest_logit);
}

void declare_export(Flags& flags) {
  const auto values = std::make_shared<ExportFlags>();
  flags.positional("dir", values->dir, "A model or run directory");
  flags.positional("out", values->out, "The folder to make");
  flags.option("--format", values->format, "hf: Hugging Face, as Qwen3ForCausalLM");
  flags.option("--dtype", values->dtype, "Type of the written weights: f32, bf16 or f16");
  flags.option("--threads", values->threads, "Threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of text");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kExportCommand = {"export", "Write a model for transformers, vLLM and llama.cpp",
                                "crope export out/model out/hf --format hf --dtype bf16", declare_export};

}  // namespace crope::cli
