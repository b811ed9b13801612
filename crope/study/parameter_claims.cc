#include "crope/study/parameter_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "crope/base/progress.h"
#include "crope/model/variant.h"
#include "crope/study/paper_figures.h"

namespace crope::study {
namespace {

using Counts = std::map<std::string, model::ParameterCounts, std::less<>>;

// One per variant: the runs of a study differ in variant and seed only.
Counts measured_counts(const Study& study) {
  Counts counts;
  for (const StudyRun& run : study.runs) {
    if (run.parameters && run.is_finished) counts.emplace(run.variant, *run.parameters);
  }
  return counts;
}

Counts paper_counts() {
  Counts counts;
  for (const model::VariantTraits& row : model::kVariants) {
    counts.emplace(row.name, model::count_parameters({.variant = row.variant}));
  }
  return counts;
}

// The variants among `names` that were not counted, as a reason; empty if there are none.
std::string missing(const Counts& counts, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!counts.contains(name)) return fmt::format("no finished run of {} with parameter counts in run.json", name);
  }
  return "";
}

void judge(Claim& claim, bool is_true, std::string reason) {
  claim.verdict = is_true ? Verdict::holds : Verdict::does_not_hold;
  claim.reason = std::move(reason);
}

Claim saving_claim(const Counts& counts, const PaperSaving& paper) {
  Claim claim{.text = fmt::format("{} saves {}% of the attention parameters", paper.variant, 100 * paper.saving),
              .paper = fmt::format("{}%", 100 * paper.saving),
              .ours = "-",
              .reason = missing(counts, {"rope", paper.variant})};
  if (!claim.reason.empty()) return claim;
  const std::int64_t full = counts.find("rope")->second.attention;
  const std::int64_t left = counts.find(paper.variant)->second.attention;
  const double saving = static_cast<double>(full - left) / static_cast<double>(full);
  claim.ours = fmt::format("{:.4g}%", 100 * saving);
  // The paper's shares are multiples of 1/8: exact in integers.
  judge(claim, 8 * (full - left) == std::llround(8 * paper.saving) * full,
        fmt::format("{} of {} parameters, counted exactly", format_grouped(left), format_grouped(full)));
  return claim;
}

Claim match_claim(const Counts& counts, std::string_view one, std::string_view other) {
  Claim claim{.text = fmt::format("{} and {} have the same number of parameters without norm gains", one, other),
              .paper = "equal",
              .ours = "-",
              .reason = missing(counts, {one, other})};
  if (!claim.reason.empty()) return claim;
  const model::ParameterCounts &a = counts.find(one)->second, &b = counts.find(other)->second;
  const std::int64_t difference = (a.total() - a.norm) - (b.total() - b.norm);
  claim.ours = difference == 0 ? fmt::format("{} each", format_grouped(a.total() - a.norm))
                               : fmt::format("they differ by {}", format_grouped(difference));
  const std::int64_t gains = a.norm - b.norm;
  judge(claim, difference == 0,
        gains == 0 ? "counted exactly; norm gains are equal too"
                   : fmt::format("counted exactly; {} has {} norm gains more", gains > 0 ? one : other,
                                 format_grouped(std::abs(gains))));
  return claim;
}

// "512", or "512 to 1,024" where counts differ.
std::string format_range(const std::set<std::int64_t>& counts) {
  if (counts.size() == 1) return format_grouped(*counts.begin());
  return fmt::format("{} to {}", format_grouped(*counts.begin()), format_grouped(*counts.rbegin()));
}

Claim fixed_claim(const Counts& counts) {
  Claim claim{.text = "embedding and feed-forward parameters are the same in all variants",
              .paper = "equal",
              .ours = "-",
              .reason = "fewer than two variants"};
  if (counts.size() < 2) return claim;
  std::set<std::int64_t> embedding, feed_forward;
  for (const auto& [variant, count] : counts) {
    embedding.insert(count.embedding);
    feed_forward.insert(count.feed_forward);
  }
  claim.ours = fmt::format("{} and {}", format_range(embedding), format_range(feed_forward));
  judge(claim, embedding.size() == 1 && feed_forward.size() == 1,
        fmt::format("counted exactly in {} variants", counts.size()));
  return claim;
}

std::vector<Claim> judge_counts(const Counts& counts) {
  std::vector<Claim> claims;
  for (const PaperSaving& saving : kPaperSavings) claims.push_back(saving_claim(counts, saving));
  claims.push_back(match_claim(counts, "crope_qk", "half_rope_qk"));
  claims.push_back(match_claim(counts, "crope_all", "half_rope_all"));
  claims.push_back(fixed_claim(counts));
  return claims;
}

}  // namespace

std::vector<Claim> judge_parameters(const Study& study) {
  std::vector<Claim> claims = judge_counts(measured_counts(study));
  const std::vector<Claim> of_paper = judge_counts(paper_counts());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    claims[i].paper_verdict = fmt::format("{}: {}", verdict_name(of_paper[i].verdict), of_paper[i].reason);
  }
  return claims;
}

}  // namespace crope::study
