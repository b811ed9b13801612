// crope compare: final losses of sets of runs, with intervals and paired differences.
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
  print_comparison(texts, flags.markdown ? TableStyle::markdown : TableStyle::aligned);
}

void declare_compare(Flags& flags) {
  const auto values = std::make_shared<CompareFlags>();
  flags.positional("runs", values->sets,
                   "STUDY/VARIANT, or STUDY for all its variants, each optionally as LABEL=...; the first is the "
                   "baseline of the differences");
  flags.option("--text", values->texts, "Only this text: validation, or a name of --validate-also; may be repeated");
  flags.option("--markdown", values->markdown, "Print Markdown tables");
  flags.option("--json", values->json, "Print one JSON array");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kCompareCommand = {"compare", "Compare the final losses of sets of runs, paired by seed",
                                 "crope compare study/main/rope wide=study/head_dim/crope_all --text validation",
                                 declare_compare};

}  // namespace crope::cli
