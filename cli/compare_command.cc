// crope compare: final losses of runs and sets of runs, with intervals and paired differences; scores and speed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/comparison_table.h"
#include "crope/base/error.h"
#include "crope/base/log.h"
#include "crope/study/comparison.h"

namespace crope::cli {
namespace {

struct CompareFlags {
  std::vector<std::string> sets;
  std::vector<std::string> texts;
  bool markdown = false;
  bool json = false;
};

void run(const CompareFlags& flags) {
  Log log(stderr);
  std::vector<std::string> warnings;
  std::vector<study::RunSet> sets;
  for (const std::string& argument : flags.sets) {
    for (study::RunSet& set : study::read_run_sets(argument, warnings)) sets.push_back(std::move(set));
  }
  if (const std::string steps = study::different_steps(sets); !steps.empty()) warnings.push_back(steps);
  if (const std::string missing = study::sets_without_losses(sets); !missing.empty()) warnings.push_back(missing);
  for (const std::string& warning : warnings) log.warn(warning);
  std::vector<study::ComparedText> texts = study::compare_sets(sets);
  if (!flags.texts.empty()) {
    std::erase_if(texts, [&](const study::ComparedText& text) {
      return std::ranges::find(flags.texts, text.title()) == flags.texts.end();
    });
    if (texts.empty()) {
      throw UsageError(fmt::format("--text {}: no run was validated on it", flags.texts.front()),
                       "omit --text to see all texts");
    }
  }
  if (flags.json) {
    fmt::print("{}\n", study::comparison_to_json(texts).dump(2));
    return;
  }
  const TableStyle style = flags.markdown ? TableStyle::markdown : TableStyle::aligned;
  print_comparison(texts, style);
  if (flags.texts.empty()) print_overview(study::overview_of_sets(sets), style);
}

void declare_compare(Flags& flags) {
  const auto values = std::make_shared<CompareFlags>();
  flags.positional("runs", values->sets,
                   "Run directories, STUDY/VARIANT for its runs of all seeds, or STUDY for all its variants, each "
                   "optionally as LABEL=...; the first is the baseline of the differences");
  flags.option("--text", values->texts,
               "Only the losses on this text: validation, or a name of --validate-also; may be repeated");
  flags.option("--markdown", values->markdown, "Print Markdown tables");
  flags.option("--json", values->json, "Print one JSON array");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kCompareCommand = {"compare", "Compare runs: losses with intervals, scores, parameters and speed",
                                 "crope compare out/quickstart/rope out/quickstart/crope_all", declare_compare};

}  // namespace crope::cli
