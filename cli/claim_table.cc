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

}  // namespace

void print_claims(std::span<const study::Claim> claims) {
  std::size_t widest_paper = 0;
  for (const study::Claim& claim : claims) widest_paper = std::max(widest_paper, claim.paper.size());
  const auto print_row = [&](std::span<const std::string> cells) {
    fmt::print("{:<48}{:<{}}{:<36}{:<20}{:>3}{:>9}  {}\n", cells[0], cells[1], widest_paper + 2, cells[2], cells[3],
               cells[4], cells[5], cells[6]);
  };
  print_row(std::vector<std::string>(study::kClaimColumns.begin(), study::kClaimColumns.end()));
  for (const study::Claim& claim : claims) {
    const std::vector<std::string> lines = wrapped(claim.text, kWidestClaim);
    std::vector<std::string> cells = study::claim_cells(claim);
    cells.front() = lines.front();
    print_row(cells);
    for (std::size_t i = 1; i < lines.size(); ++i) fmt::print("{}\n", lines[i]);
    fmt::print("    {}\n    paper: {}\n", claim.reason, claim.paper_verdict);
  }
}

void print_claims_markdown(std::span<const study::Claim> claims) {
  constexpr std::size_t kVerdict = 6;
  TextTable table{.columns = {study::kClaimColumns.begin(), study::kClaimColumns.end()}, .rows = {}};
  for (const study::Claim& claim : claims) {
    std::vector<std::string> cells = study::claim_cells(claim);
    cells[kVerdict] = fmt::format("**{}**", cells[kVerdict]);
    table.rows.push_back(std::move(cells));
  }
  fmt::print("{}", format_table(table, TableStyle::markdown));
}

}  // namespace crope::cli
