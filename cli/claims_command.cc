// crope claims: the paper's claims, judged on the runs of a study.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "cli/claim_table.h"
#include "cli/command.h"
#include "cli/comparison_table.h"
#include "crope/base/error.h"
#include "crope/base/log.h"
#include "crope/base/nearest_name.h"
#include "crope/study/claims.h"
#include "crope/study/comparison.h"
#include "crope/study/study_data.h"

namespace crope::cli {
namespace {

struct ClaimsFlags {
  std::string study;
  std::vector<std::string> margins;
  bool markdown = false;
  bool json = false;
};

// "0.25%" or "0.0025".
double parse_share(const std::string& text, const std::string& flag) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  const double share = rest == "%" ? number / 100 : number;
  const bool is_number = end != text.c_str() && (rest.empty() || rest == "%");
  if (is_number && std::isfinite(share) && share > 0 && share < 1) return share;
  throw UsageError(fmt::format("--margin {}: expected a share between 0 and 1 (got '{}')", flag, text),
                   "try --margin loss=0.25% or --margin accuracy=0.005");
}

study::Margins parse_margins(const std::vector<std::string>& given) {
  study::Margins margins;
  for (const std::string& flag : given) {
    const std::size_t equals = flag.find('=');
    const std::string name = flag.substr(0, equals);
    if (equals == std::string::npos || (name != "loss" && name != "accuracy")) {
      throw UsageError(fmt::format("--margin {}: expected loss=SHARE or accuracy=SHARE", flag),
                       suggest(name, std::vector<std::string>{"loss", "accuracy"}));
    }
    (name == "loss" ? margins.loss : margins.accuracy) = parse_share(flag.substr(equals + 1), flag);
  }
  return margins;
}

void run(const ClaimsFlags& flags) {
  Log log(stderr);
  const study::Margins margins = parse_margins(flags.margins);
  const study::Study study = study::read_study(flags.study);
  for (const std::string& warning : study.warnings) log.warn(warning);
  const std::vector<study::Claim> claims = study::judge_claims(study, margins);
  if (flags.json) {
    fmt::print("{}\n", study::claims_to_json(claims).dump(2));
    return;
  }
  if (flags.markdown) {
    print_claims_markdown(claims);
    return;
  }
  print_claims(claims);
  fmt::print("\nLosses (p-values of single pairs, without Holm's correction):\n");
  print_comparison(study::compare_sets(study::run_sets(study)), TableStyle::aligned);
}

void declare_claims(Flags& flags) {
  const auto values = std::make_shared<ClaimsFlags>();
  flags.positional("study", values->study, "Folder with run directories <variant>_<seed>, such as rope_0");
  flags.option("--margin", values->margins,
               "Differences that are too small to matter: loss=SHARE of the loss (default 0.25%) or accuracy=SHARE of "
               "the items (default 0.5%); may be repeated");
  flags.option("--markdown", values->markdown, "Print the verdicts as one Markdown table");
  flags.option("--json", values->json, "Print the verdicts as one JSON array");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kClaimsCommand = {"claims", "Judge the paper's claims on the runs of a study, with tests over seeds",
                                "crope claims out/study --margin loss=0.25% --margin accuracy=0.5%", declare_claims};

}  // namespace crope::cli
