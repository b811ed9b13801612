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
  bool examples = false;
  bool skip_examples = false;
  bool trained_examples = false;
  bool figures_only = false;
  int threads = 0;
  bool json = false;
};

// report/ in the run, or beside the first of several.
std::filesystem::path default_folder(const std::vector<std::filesystem::path>& runs) {
  const std::filesystem::path first = runs.front().has_filename() ? runs.front() : runs.front().parent_path();
  return (runs.size() == 1 ? first : first.parent_path()) / "report";
}

void run(const ReportFlags& flags) {
  Log log(stderr);
  at::set_num_threads(resolve_thread_count(flags.threads));
  const std::vector<std::filesystem::path> runs(flags.runs.begin(), flags.runs.end());
  const std::filesystem::path out = flags.out.empty() ? default_folder(runs) : std::filesystem::path(flags.out);
  study::ReportOptions options{.examples = flags.examples || flags.trained_examples,
                               .trained_examples = flags.trained_examples,
                               .figures_only = flags.figures_only};
  if (!flags.title.empty()) options.title = flags.title;
  const std::filesystem::path written = study::write_report(runs, out, options, log);
  if (flags.json) {
    const Json page = flags.figures_only ? Json(nullptr) : Json(written.string());
    fmt::print("{}\n", Json({{"page", page}, {"folder", out.string()}, {"runs", flags.runs}}).dump());
  } else {
    fmt::print("wrote {}\n", written.string());
  }
}

void declare_report(Flags& flags) {
  const auto values = std::make_shared<ReportFlags>();
  flags.positional("runs", values->runs, "Run directories, or study folders that hold runs <variant>_<seed>/");
  flags.option("--out", values->out,
               "Output folder (default: report/ in the run or study, or beside the first of several)");
  flags.option("--title", values->title, "Title of the page");
  flags.option("--figures-only", values->figures_only, "Write the SVG and PNG files without index.html");
  flags.option("--examples", values->examples, "Also draw the paper's illustrative heads (half a minute)");
  flags.option("--trained-examples", values->trained_examples,
               "Also train layers on the illustrative task (about a minute); includes --examples");
  flags.option("--skip-examples", values->skip_examples, "Accepted for scripts: the heads are omitted anyway");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object: page (null with --figures-only), folder, runs");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kReportCommand = {"report", "Write a page with figures and tables of runs, averaged over seeds",
                                "crope report out/study --out out/report", declare_report};

}  // namespace crope::cli
