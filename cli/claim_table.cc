#include "cli/claim_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/text_table.h"

namespace crope::cli {
namespace {

constexpr std::size_t kWidestClaim = 46;  // longer ones are broken

// Lines of at most `width` characters, broken at spaces. All text here is ASCII.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (text.size() - begin > width) {
    const std::size_t space = text.rfind(' ', begin + width);
    const bool has_space = space != std::string::npos && space > begin;
    lines.push_back(text.substr(begin, (has_space ? space : begin + width) - begin));
    begin = has_space ? space + 1 : begin + width;
  }
  lines.push_back(text.substr(begin));
  return lines;
}

std::string p_text(const study::Claim& claim) {
  if (!claim.p) return "-";
  return *claim.p < 1e-4 ? "<0.0001" : fmt::format("{:.4f}", *claim.p);
}

}  // namespace

void print_claims(std::span<const study::Claim> claims) {
  const auto print_row = [](const std::string& claim, const std::string& paper, const std::string& ours,
                            const std::string& interval, const std::string& seeds, const std::string& p,
                            std::string_view verdict) {
    fmt::print("{:<48}{:<21}{:<36}{:<20}{:>3}{:>9}  {}\n", claim, paper, ours, interval, seeds, p, verdict);
  };
  print_row("claim", "paper", "ours", "interval", "n", "p", "verdict");
  for (const study::Claim& claim : claims) {
    const std::vector<std::string> lines = wrapped(claim.text, kWidestClaim);
    print_row(lines.front(), claim.paper, claim.ours, study::format_interval(claim),
              claim.seeds == 0 ? "-" : std::to_string(claim.seeds), p_text(claim), study::verdict_name(claim.verdict));
    for (std::size_t i = 1; i < lines.size(); ++i) fmt::print("{}\n", lines[i]);
    fmt::print("    {}\n    paper: {}\n", claim.reason, claim.paper_verdict);
  }
}

void print_claims_markdown(std::span<const study::Claim> claims) {
  TextTable table{
      .columns = {"claim", "paper", "ours", "interval", "n", "p", "verdict", "reason", "the paper's own figures"},
      .rows = {}};
  for (const study::Claim& claim : claims) {
    table.rows.push_back({claim.text, claim.paper, claim.ours, study::format_interval(claim),
                          claim.seeds == 0 ? "-" : std::to_string(claim.seeds), p_text(claim),
                          fmt::format("**{}**", study::verdict_name(claim.verdict)), claim.reason,
                          claim.paper_verdict});
  }
  fmt::print("{}", format_table(table, TableStyle::markdown));
}

}  // namespace crope::cli
