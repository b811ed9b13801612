// crope upcycle: a dense model as a complex-linear one.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/base/threads.h"
#include "crope/interop/upcycle.h"
#include "crope/model/model_dir.h"

namespace crope::cli {
namespace {

struct UpcycleFlags {
  std::string dir;
  std::string out;
  std::string variant;
  std::string method = "fitted";
  std::string structure;
  int threads = 0;
  bool json = false;
};

Json upcycle_json(const UpcycleFlags& flags, std::string_view structure, const std::vector<interop::KeptEnergy>& kept,
                  std::int64_t parameters) {
  const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json layers = Json::array();
  for (const interop::KeptEnergy& layer : kept) {
    layers.push_back({{"layer", layer.layer},
                      {"q", layer.q},
                      {"k", layer.k},
                      {"v", optional(layer.v)},
                      {"o", optional(layer.o)},
                      {"vo", layer.vo}});
  }
  return {{"directory", flags.out}, {"variant", flags.variant}, {"method", flags.method},
          {"structure", structure}, {"parameters", parameters}, {"kept", std::move(layers)}};
}

void print_kept(const std::vector<interop::KeptEnergy>& kept) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{:8.4f}", *value) : fmt::format("{:>8}", "-");
  };
  fmt::print("energy kept by the tied parts\nlayer        q        k        v        o  product of v and o\n");
  for (const interop::KeptEnergy& layer : kept) {
    fmt::print("{:5} {:8.4f} {:8.4f} {} {} {:19.4f}\n", layer.layer, layer.q, layer.k, optional(layer.v),
               optional(layer.o), layer.vo);
  }
}

void run(const UpcycleFlags& flags) {
  const model::Variant variant = model::variant_by_name(flags.variant);
  const interop::UpcycleMethod method = Choice<interop::UpcycleMethod>::by_name(flags.method, "--method");
  std::optional<interop::StreamStructure> structure;
  if (!flags.structure.empty()) {
    structure = Choice<interop::StreamStructure>::by_name(flags.structure, "--structure");
  }
  at::set_num_threads(resolve_thread_count(flags.threads));
  Log log(stderr);
  const auto kept = interop::upcycle_directory(flags.dir, flags.out, variant, method, log, structure);
  const std::int64_t parameters = model::count_parameters(model::load_config(flags.out)).total();
  if (flags.json) {
    fmt::print("{}\n", upcycle_json(flags, Choice(structure.value_or(interop::usual_structure(method))).name(), kept,
                                    parameters)
                           .dump());
    return;
  }
  print_kept(kept);
  const bool is_annealed = method == interop::UpcycleMethod::annealed;
  fmt::print("wrote {}: variant {}, {} parameters; continue with 'crope train --init-from {}{}'\n", flags.out,
             flags.variant, parameters, flags.out, is_annealed ? " --conjugate-steps N" : "");
  if (!is_annealed) {
    log.warn(fmt::format("{} does not compute what {} does: train it before you use it", flags.out, flags.dir));
  }
}

void declare_upcycle(Flags& flags) {
  const auto values = std::make_shared<UpcycleFlags>();
  flags.positional("dir", values->dir, "A model or run directory of the variant rope");
  flags.positional("out", values->out, "Model directory to create");
  flags.option("--variant", values->variant, "crope_qk, crope_qkv or crope_all");
  flags.require("--variant");
  flags.option(
      "--method", values->method,
      "fitted (choose the pairs for Q and K, fit V and O together), plain (tie each matrix by itself) or annealed "
      "(compute the same function as before, with conjugate-linear parts that 'crope train "
      "--conjugate-steps' removes)");
  flags.option("--structure", values->structure,
               "Coordinates of the residual stream to tie in: given, pairs (another order) or J (turned to the complex "
               "structure that queries and keys share; the output projection becomes a tensor of its own). Default: "
               "pairs, or given for the method plain");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of the table");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kUpcycleCommand = {"upcycle", "Make a dense model complex-linear, as a start for training",
                                 "crope upcycle out/model out/tied --variant crope_all", declare_upcycle};

}  // namespace crope::cli
