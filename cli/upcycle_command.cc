// crope upcycle: a dense model as a complex-linear one.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/base/nearest_name.h"
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
  int threads = 0;
  bool json = false;
};

interop::UpcycleMethod method_by_name(const std::string& name) {
  if (name == "fitted") return interop::UpcycleMethod::fitted;
  if (name == "plain") return interop::UpcycleMethod::plain;
  const std::vector<std::string> names = {"fitted", "plain"};
  throw UsageError(fmt::format("unknown --method '{}'", name), suggest(name, names));
}

Json upcycle_json(const UpcycleFlags& flags, const std::vector<interop::KeptEnergy>& kept, std::int64_t parameters) {
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
  return {{"directory", flags.out},
          {"variant", flags.variant},
          {"method", flags.method},
          {"parameters", parameters},
          {"kept", std::move(layers)}};
}

void print_kept(const std::vector<interop::KeptEnergy>& kept) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{:8.4f}", *value) : fmt::format("{:>8}", "-");
  };
  fmt::print("energy kept\nlayer        q        k        v        o  product of v and o\n");
  for (const interop::KeptEnergy& layer : kept) {
    fmt::print("{:5} {:8.4f} {:8.4f} {} {} {:19.4f}\n", layer.layer, layer.q, layer.k, optional(layer.v),
               optional(layer.o), layer.vo);
  }
}

void run(const UpcycleFlags& flags) {
  const model::Variant variant = model::variant_by_name(flags.variant);
  const interop::UpcycleMethod method = method_by_name(flags.method);
  at::set_num_threads(resolve_thread_count(flags.threads));
  Log log(stderr);
  const auto kept = interop::upcycle_directory(flags.dir, flags.out, variant, method, log);
  const std::int64_t parameters = model::count_parameters(model::load_config(flags.out)).total();
  if (flags.json) {
    fmt::print("{}\n", upcycle_json(flags, kept, parameters).dump());
    return;
  }
  print_kept(kept);
  fmt::print("wrote {}: variant {}, {} parameters; train it on with 'crope train --init-from {}'\n", flags.out,
             flags.variant, parameters, flags.out);
}

void declare_upcycle(Flags& flags) {
  const auto values = std::make_shared<UpcycleFlags>();
  flags.positional("dir", values->dir, "A model or run directory of the variant rope");
  flags.positional("out", values->out, "The model directory to make");
  flags.option("--variant", values->variant, "crope_qk, crope_qkv or crope_all");
  flags.require("--variant");
  flags.option("--method", values->method,
               "fitted: pairs chosen for Q and K, V and O fitted together; plain: each matrix by itself");
  flags.option("--threads", values->threads, "Threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of the table");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kUpcycleCommand = {"upcycle", "Make a dense model complex-linear, as a start for training",
                                 "crope upcycle out/model out/tied --variant crope_all", declare_upcycle};

}  // namespace crope::cli
