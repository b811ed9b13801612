// crope export: a model for other programs.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/base/nearest_name.h"
#include "crope/base/threads.h"
#include "crope/interop/gguf_export.h"
#include "crope/interop/hf_export.h"
#include "crope/interop/hf_native_export.h"
#include "crope/model/model_dir.h"
#include "crope/model/parameters.h"

namespace crope::cli {
namespace {

struct ExportFlags {
  std::string dir;
  std::string out;
  std::string format;  // empty: by the name of what is made
  std::string type = "f32";
  int threads = 0;
  bool json = false;
};

// What a name stands for in a list of names and values.
template <typename Value>
Value export_type(const std::string& name, const std::vector<std::pair<std::string, Value>>& types) {
  std::vector<std::string> names;
  for (const auto& [each, value] : types) {
    if (each == name) return value;
    names.push_back(each);
  }
  throw UsageError(fmt::format("unknown --type '{}'", name), suggest(name, names));
}

interop::ExportReport run_export(const ExportFlags& flags, Log& log) {
  using formats::GgmlType;
  if (flags.format == "hf" || flags.format == "hf-native") {
    const auto type = export_type<torch::ScalarType>(
        flags.type, {{"f32", torch::kFloat32}, {"bf16", torch::kBFloat16}, {"f16", torch::kFloat16}});
    return flags.format == "hf" ? interop::export_hf(flags.dir, flags.out, type, log)
                                : interop::export_hf_native(flags.dir, flags.out, type, log);
  }
  if (flags.format == "gguf") {
    const auto type = export_type<GgmlType>(flags.type, {{"f32", GgmlType::f32},
                                                         {"bf16", GgmlType::bf16},
                                                         {"f16", GgmlType::f16},
                                                         {"q8_0", GgmlType::q8_0},
                                                         {"q4_0", GgmlType::q4_0}});
    return interop::export_gguf(flags.dir, flags.out, type, log);
  }
  const std::vector<std::string> formats = {"hf", "hf-native", "gguf"};
  throw UsageError(fmt::format("unknown --format '{}'", flags.format), suggest(flags.format, formats));
}

// The format by the name of what is made, unless a flag gives it.
std::string format_of(const ExportFlags& flags) {
  const bool is_gguf = std::filesystem::path(flags.out).extension() == ".gguf";
  if (flags.format.empty()) return is_gguf ? "gguf" : "hf";
  if (is_gguf && flags.format.starts_with("hf")) {
    throw UsageError(
        fmt::format("{}: --format {} makes a folder, and this is the name of a GGUF file", flags.out, flags.format),
        "use --format gguf, or a name without .gguf");
  }
  return flags.format;
}

// Why the export holds more numbers than the model has parameters, if it does.
void print_expansion(const ExportFlags& flags) {
  if (flags.format == "hf-native") return;
  model::ModelConfig config = model::load_config(model::resolve_model_dir(flags.dir));
  if (!model::traits(config.variant).ties_qk) return;
  const std::int64_t tied = model::count_parameters(config).total();
  config.variant = model::Variant::rope;
  fmt::print("tied pairs are written as dense matrices: {} parameters instead of {}\n",
             model::count_parameters(config).total(), tied);
}

void run(ExportFlags& flags) {
  flags.format = format_of(flags);
  at::set_num_threads(resolve_thread_count(flags.threads));
  Log log(stderr);
  const interop::ExportReport report = run_export(flags, log);
  if (flags.json) {
    const Json json = {{flags.format == "gguf" ? "file" : "directory", report.path.string()},
                       {"format", flags.format},
                       {"dtype", flags.type},
                       {"largest_difference", report.largest_difference},
                       {"largest_logit", report.largest_logit}};
    fmt::print("{}\n", json.dump());
    return;
  }
  print_expansion(flags);
  fmt::print("wrote {}\nread back and compared: logits differ by at most {:.3g} (they go up to {:.3g})\n",
             report.path.string(), report.largest_difference, report.largest_logit);
}

void declare_export(Flags& flags) {
  const auto values = std::make_shared<ExportFlags>();
  flags.positional("dir", values->dir, "A model or run directory");
  flags.positional("out", values->out, "Folder or GGUF file to create");
  flags.option(
      "--format", values->format,
      "hf (a folder for transformers and vLLM, as Qwen3ForCausalLM), hf-native (a folder that keeps a and b, with its "
      "own modelling file) or gguf (a file for llama.cpp). Default: gguf for a name that ends in .gguf, else hf");
  flags.option("--type,--dtype", values->type,
               "Type of the written matrices: f32, bf16, f16, and for gguf q8_0 and q4_0");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of text");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kExportCommand = {"export", "Write a model for transformers, vLLM and llama.cpp",
                                "crope export out/model out/model.gguf --format gguf --type q8_0", declare_export};

}  // namespace crope::cli
