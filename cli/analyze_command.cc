// crope analyze: which functions the projections of a model use.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/text_table.h"
#include "crope/analysis/context_use.h"
#include "crope/analysis/layer_losses.h"
#include "crope/base/error.h"
#include "crope/base/log.h"
#include "crope/base/threads.h"
#include "crope/model/text_rows.h"
#include "crope/study/model_report.h"
#include "crope/study/structure_figures.h"

namespace crope::cli {
namespace {

struct AnalyzeFlags {
  std::string dir;
  std::string out;
  std::string text;
  std::int64_t tokens = analysis::TextOptions{}.tokens;
  std::int64_t row_tokens = 0;
  int threads = 0;
  bool structure = false;
  bool context = false;
  bool layers = false;
  bool json = false;
};

void print_row(const std::string& place, char projection, bool tied, const analysis::PauliEnergies& energies,
               const analysis::PauliEnergies& effective, const analysis::RandomShare& random) {
  const double total = energies.total();
  fmt::print("{:<8}{:<12}{:<6}", place, projection, tied ? "yes" : "no");
  for (const double energy : energies.sigma) fmt::print("{:>8.4f}", total > 0 ? energy / total : 0);
  fmt::print("{:>14.4g}{:>12.6f}{:>12.6f}{:>18}\n", total, energies.conjugate_linear_share(),
             effective.conjugate_linear_share(), fmt::format("{:.3f} ± {:.4f}", random.mean, random.deviation));
}

void print_table(const analysis::ModelAnalysis& analysis, bool layers) {
  for (const analysis::AnalyzedModel& model : analysis.models) {
    if (model.step) fmt::print("step {}\n", *model.step);
    fmt::print("{:<8}{:<12}{:<6}{:>8}{:>8}{:>8}{:>8}{:>14}{:>12}{:>12}{:>18}\n", "layer", "projection", "tied", "σ0",
               "σ1", "σ2", "σ3", "energy", "conjugate", "with gains", "random");
    if (layers) {
      for (const analysis::ProjectionEnergies& each : model.projections) {
        print_row(std::to_string(each.layer), each.projection, each.tied, each.energies, each.effective,
                  analysis::random_share(each.rows, each.columns));
      }
    }
    for (const study::ProjectionSummary& row : study::summarize(model))
      print_row("all", row.projection, row.tied, row.energies, row.effective, row.random);
  }
}

void print_block(const report::Table& table) {
  fmt::print("{}{}\n", format_table({.columns = table.columns, .rows = table.rows}, TableStyle::aligned),
             table.caption);
}

void print_structure(const study::StructureReport& report, bool layers) {
  for (const study::PlacedStructures& model : report.models) {
    if (model.place.step) fmt::print("step {}\n", *model.place.step);
    print_block(study::share_table(model.structures));
    if (layers) print_block(study::layer_table(model.structures));
  }
  if (!report.text) return;
  fmt::print("\n");
  print_block(study::text_table(*report.text));
  fmt::print("\n");
  print_block(study::removal_table(*report.text));
}

void run_structure(const AnalyzeFlags& flags, Log& log) {
  const study::StructureReport report =
      study::study_structure({.dir = flags.dir, .text = flags.text, .on_text = {.tokens = flags.tokens}}, log);
  if (!flags.out.empty()) study::write_structure(report, flags.out);
  if (flags.json) {
    fmt::print("{}\n", study::structure_to_json(report).dump());
    return;
  }
  print_structure(report, flags.layers);
}

Json context_to_json(const analysis::ContextUse& use) {
  Json positions = Json::array(), recall = Json::array();
  for (const analysis::PositionLoss& each : use.positions) {
    positions.push_back({{"first", each.first},
                         {"end", each.end},
                         {"tokens", each.tokens},
                         {"loss", each.loss},
                         {"standard_error", each.standard_error}});
  }
  for (const analysis::Recall& each : use.recall) {
    recall.push_back({{"distance", each.distance},
                      {"passages", each.passages},
                      {"unread", each.unread},
                      {"again", each.again},
                      {"gain", each.gain},
                      {"standard_error", each.standard_error}});
  }
  return {{"positions", positions}, {"recall", recall}};
}

void print_context(const analysis::ContextUse& use) {
  fmt::print("{:<16}{:>10}{:>18}\n", "tokens before", "tokens", "loss");
  for (const analysis::PositionLoss& each : use.positions) {
    fmt::print("{:<16}{:>10}{:>18}\n", fmt::format("{} to {}", each.first, each.end - 1), each.tokens,
               fmt::format("{:.4f} ± {:.4f}", each.loss, each.standard_error));
  }
  if (use.recall.empty()) return;
  fmt::print("\n{:<16}{:>10}{:>18}{:>10}{:>18}\n", "distance", "passages", "loss of a passage", "again", "gain");
  for (const analysis::Recall& each : use.recall) {
    fmt::print("{:<16}{:>10}{:>18.4f}{:>10.4f}{:>18}\n", each.distance, each.passages, each.unread, each.again,
               fmt::format("{:.4f} ± {:.4f}", each.gain, each.standard_error));
  }
}

void run_context(const AnalyzeFlags& flags, Log& log) {
  if (flags.text.empty()) throw UsageError("--context needs a text to measure on", "add --text FILE");
  const model::LanguageModel model = model::load_language_model(flags.dir, log);
  const std::int64_t row_tokens = flags.row_tokens > 0 ? flags.row_tokens : model.window();
  const std::vector<torch::Tensor> rows =
      model::text_rows(model, flags.text, {.tokens = flags.tokens, .row_tokens = row_tokens});
  if (rows.size() < 2) {
    log.warn(
        fmt::format("one row of {} tokens: recall needs two. Raise --tokens, or lower --row-tokens", rows[0].size(1)));
  }
  const analysis::ContextUse use = analysis::context_use(model.model, rows);
  if (flags.json) {
    fmt::print("{}\n", context_to_json(use).dump());
    return;
  }
  print_context(use);
}

analysis::LayerLosses losses_on_text(const AnalyzeFlags& flags, const analysis::ModelAnalysis& analysis, Log& log) {
  const model::LanguageModel model = model::load_language_model(analysis.last().dir, log);
  return analysis::layer_losses(
      model.model, model::text_rows(model, flags.text, {.tokens = flags.tokens, .row_tokens = flags.row_tokens}));
}

void print_layer_losses(const analysis::LayerLosses& layers) {
  fmt::print("\nloss of each layer's output under the final norm and output projection, {} tokens\nlayer        loss\n",
             layers.tokens);
  for (std::size_t i = 0; i < layers.losses.size(); ++i) {
    fmt::print("{:<9}{:>8.4f}\n", i == 0 ? "input" : std::to_string(i - 1), layers.losses[i]);
  }
}

void run(const AnalyzeFlags& flags) {
  Log log(stderr);
  at::set_num_threads(resolve_thread_count(flags.threads));
  if (flags.tokens < 1) throw UsageError(fmt::format("--tokens {}: expected at least 1", flags.tokens));
  if (flags.row_tokens < 0) throw UsageError(fmt::format("--row-tokens {}: expected 0 or more", flags.row_tokens));
  if (flags.context && flags.structure) {
    throw UsageError("--context and --structure print different tables", "run the command once with each");
  }
  if (flags.context && !flags.out.empty()) {
    throw UsageError("--context writes no figures, so --out would stay empty", "keep the numbers with --json > FILE");
  }
  if (flags.context) {
    run_context(flags, log);
    return;
  }
  if (flags.structure) {
    run_structure(flags, log);
    if (!flags.json && !flags.out.empty()) fmt::print("wrote {}/index.html\n", flags.out);
    return;
  }
  const analysis::ModelAnalysis analysis = analysis::analyze_model(flags.dir, log);
  if (!flags.out.empty()) study::write_analysis(analysis, flags.out);
  std::optional<analysis::LayerLosses> layers;
  if (!flags.text.empty()) layers = losses_on_text(flags, analysis, log);
  if (flags.json) {
    Json json = study::analysis_to_json(analysis);
    if (layers) json["layer_losses"] = {{"tokens", layers->tokens}, {"losses", layers->losses}};
    fmt::print("{}\n", json.dump());
    return;
  }
  print_table(analysis, flags.layers);
  fmt::print("\n{}", study::conclusion(analysis.last()));
  if (!model::traits(analysis.config.variant).ties_o) {
    fmt::print("'crope analyze --structure' looks for pairs that the model does use.\n");
  }
  if (layers) print_layer_losses(*layers);
  if (!flags.out.empty()) fmt::print("wrote {}/index.html\n", flags.out);
}

void declare_analyze(Flags& flags) {
  const auto values = std::make_shared<AnalyzeFlags>();
  flags.positional("dir", values->dir, "A model directory, or a run directory (all its checkpoints)");
  flags.option(
      "--structure", values->structure,
      "Look for the complex structure that all layers share in the residual stream, instead of printing energies");
  flags.option("--text", values->text,
               "Text file: also print the loss of each layer's output under the final norm and output projection. With "
               "--structure: also measure queries and keys on it, and the loss without their conjugate-linear part");
  flags.option("--context", values->context,
               "Print the loss of --text by position, and what the model gains where a passage of 32 tokens comes a "
               "second time, by distance, instead of energies");
  flags.option("--tokens", values->tokens, "Largest number of tokens of --text to measure on");
  flags.option("--row-tokens", values->row_tokens,
               "Tokens per row of --text (0: at most 512; with --context the model's window)");
  flags.option("--out", values->out, "Folder for the numbers as JSON, the figures and a page that shows them");
  flags.option("--layers", values->layers, "Print every layer, not only all layers together");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object instead of a table");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kAnalyzeCommand = {"analyze", "Measure how much of each projection is complex-linear",
                                 "crope analyze out/model --out out/analysis", declare_analyze};

}  // namespace crope::cli
