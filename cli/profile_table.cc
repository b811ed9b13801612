#include "cli/profile_table.h"

#include <fmt/format.h>

namespace crope::cli {

std::string profile_table(std::span<const ops::ProfileRow> parts, double seconds, double peak) {
  std::string table = fmt::format("  {:<32}{:>9}{:>14}{:>8}{:>14}{:>7}\n", "part", "calls", "time", "share", "products",
                                  peak > 0 ? "peak" : "");
  const auto row = [&](const std::string& name, const std::string& calls, double time, double flops) {
    table += fmt::format("  {:<32}{:>9}{:>11.2f} ms{:>7.1f}%", name, calls, 1e3 * time, 100 * time / seconds);
    if (flops > 0) table += fmt::format("{:>9.1f} GF/s", 1e-9 * flops / time);
    if (flops > 0 && peak > 0) table += fmt::format("{:>6.0f}%", 100 * flops / time / peak);
    table += '\n';
  };
  double known = 0;
  for (const ops::ProfileRow& part : parts) {
    row(part.name, std::to_string(part.calls), part.seconds, part.flops);
    known += part.seconds;
  }
  row("between them", "", seconds - known, 0);
  return table;
}

}  // namespace crope::cli
