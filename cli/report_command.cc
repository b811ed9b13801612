// crope report: the paper's figures from run directories.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/base/threads.h"
#include "crope/study/run_report.h"

namespace crope::cli {
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::string out;
  std::string title;
  bool skip_examples = false;
  bool trained_examples = false;
  int threads = 0;
  bool json = false;
};

void run(const ReportFlags& flags) {
  Log log(stderr);
  at::set_num_threads(resolve_thread_count(flags.threads));
  const std::vector<std::filesystem::path> runs(flags.runs.begin(), flags.runs.end());
  const std::filesystem::path out = flags.out.empty() ? runs.front() / "report" : std::filesystem::path(flags.out);
  study::ReportOptions options{.examples = !flags.skip_examples, .trained_examples = flags.trained_examples};
  if (!flags.title.empty()) options.title = flags.title;
  const std::filesystem::path page = study::write_report(runs, out, options, log);
  if (flags.json) {
    fmt::print("{}\n", Json({{"page", page.string()}, {"runs", flags.runs}}).dump());
  } else {
    fmt::print("wrote {}\n", page.string());
  }
}

void declare_report(Flags& flags) {
  const auto values = std::make_shared<ReportFlags>();
  flags.positional("runs", values->runs, "Run directories");
  flags.option("--out", values->out, "Folder of the report (default: report/ in the first run)");
  flags.option("--title", values->title, "Title of the page");
  flags.option("--skip-examples", values->skip_examples, "Without the illustrative heads");
  flags.option("--trained-examples", values->trained_examples, "Also train the illustrative layers: about a minute");
  flags.option("--threads", values->threads, "Threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object: page, runs");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kReportCommand = {"report", "One page with the figures and tables of runs",
                                "crope report out/rope out/crope_all --out out/report", declare_report};

}  // namespace crope::cli
