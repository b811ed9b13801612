// The command line: a table of commands, and the one place where errors become words and exit codes
// (0 ok, 1 failure, 2 usage).
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/generated_text.h"
#include "cli/help_formatter.h"
#include "cli/openmp_spin.h"
#include "cli/version.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/nearest_name.h"
#include "crope/dist/error_file.h"
#include "crope/ops/tensor_memory.h"

namespace {

using namespace crope;

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr std::size_t kMostNamesListed = 24;  // as an answer to a mistake; --help has more room

struct Task {
  const char* name;
  std::vector<const cli::Command*> commands;
};

// In the order of --help.
const std::vector<Task>& all_tasks() {
  static const std::vector<Task> kTasks = {
      {"Start", {&cli::kQuickstartCommand, &cli::kInfoCommand, &cli::kParamsCommand, &cli::kBenchCommand}},
      {"Prepare data", {&cli::kTokenizerCommand, &cli::kDataCommand}},
      {"Train", {&cli::kTrainCommand, &cli::kUpcycleCommand}},
      {"Evaluate", {&cli::kEvalCommand, &cli::kScoreCommand, &cli::kCompareCommand}},
      {"Use a model", {&cli::kGenerateCommand, &cli::kChatCommand, &cli::kServeCommand}},
      {"Convert", {&cli::kImportCommand, &cli::kExportCommand, &cli::kQuantizeCommand, &cli::kPruneCommand}},
      {"Explain", {&cli::kAnalyzeCommand, &cli::kExamplesCommand, &cli::kReportCommand}},
      {"Repeat the paper", {&cli::kReproduceCommand, &cli::kClaimsCommand}},
  };
  return kTasks;
}

// "rank 1: " where several processes share a terminal.
std::string rank_prefix() {
  const auto rank = dist::process_environment("RANK");
  return rank && dist::process_environment("WORLD_SIZE") != "1" ? fmt::format("rank {}: ", *rank) : "";
}

int report(int status, const std::string& message, const std::string& hint) {
  const std::string prefix = rank_prefix();
  fmt::print(stderr, "{}error: {}\n", prefix, message);
  if (!hint.empty()) fmt::print(stderr, "{}hint: {}\n", prefix, hint);
  dist::write_error_file(message + (hint.empty() ? "" : "\nhint: " + hint));
  return status;
}

// The subcommand that was being parsed when an error came up.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.back());
}

// "crope data prepare"
std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  // Options that exclude each other live in a nameless group.
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); })) {
    for (std::string& name : flag_names(*group)) names.push_back(std::move(name));
  }
  return names;
}

// A word that nothing takes: a flag or a command mistyped.
int report_unknown(const CLI::App& app, const std::string& word) {
  const bool is_flag = word.starts_with("-");
  const std::vector<std::string> names = is_flag ? flag_names(app) : command_names(app);
  const std::string name = word.substr(0, word.find('='));
  const std::string message = fmt::format("{}: unknown {} '{}'", full_name(app),
                                          is_flag         ? "flag"
                                          : names.empty() ? "argument"
                                                          : "command",
                                          name);
  const std::string question = did_you_mean(name, names);
  if (!question.empty()) return report(kUsage, message, question);
  const bool can_list = !names.empty() && names.size() <= kMostNamesListed;
  return report(kUsage, message, can_list ? suggest(name, names) : full_name(app) + " --help");
}

// A mistake that CLI11 found, in this program's words.
int report_mistake(const CLI::App& app, const CLI::ParseError& error) {
  const std::string name = full_name(app), text = error.what();
  const std::string help = name + " --help";
  const std::vector<std::string> commands = command_names(app);
  if (text == "A subcommand is required") {
    return report(kUsage, fmt::format("{}: expected a command: {}", name, fmt::join(commands, ", ")), help);
  }
  if (text.starts_with("Exactly 1 option from [")) {
    const CLI::App* group = app.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); }).front();
    std::vector<std::string> names = flag_names(*group);
    std::erase(names, "--help");
    const std::size_t given = group->count_all();
    return report(kUsage,
                  fmt::format("{}: expected exactly one of {}{}", name, fmt::join(names, ", "),
                              given == 0 ? "" : fmt::format(", found {} of them", given)),
                  help);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with(" missing")) {
    return report(kUsage, fmt::format("{}: {} needs a value", name, text.substr(0, text.find(':'))), help);
  }
  constexpr std::string_view kRequired = " is required";
  if (text.ends_with(kRequired)) {
    return report(kUsage, fmt::format("{}: missing {}", name, text.substr(0, text.size() - kRequired.size())), help);
  }
  return report(kUsage, fmt::format("{}: {}", name, text), help);
}

int run(int argc, char** argv) {
  CLI::App app("Train, score and study language models whose attention is complex-linear.", "crope");
  app.formatter(std::make_shared<cli::HelpFormatter>());  // commands declared below inherit it
  app.set_version_flag("--version", cli::version_line());
  cli::Flags root(app);
  root.immediate("--generate", "Print a man page (man), or a shell's completions: bash, zsh or fish",
                 [&app](const std::string& kind) {
                   fmt::print("{}", cli::generate(kind, cli::describe(app), cli::version_number()));
                 });
  for (const Task& task : all_tasks()) {
    root.group(task.name);
    for (const cli::Command* command : task.commands) {
      cli::Flags flags = root.command(command->name, command->summary, command->example);
      command->declare(flags);
    }
  }
  if (argc < 2) {
    fmt::print("{}", app.help());
    return kUsage;
  }
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    return report(kFailure, "cannot write standard output", "the disk may be full, or the reader gone");
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const CLI::App& place = innermost(app);
    const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
    if (!extras.empty()) return report_unknown(place, extras.front());
    return report_mistake(place, e);
  }
}

// Errors become words and a status.
int run_guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UsageError& e) {
    return report(kUsage, e.what(), e.hint());
  } catch (const Interrupted& e) {
    fmt::print(stderr, "{}{}\n", rank_prefix(), e.what());
    return 128 + e.signal();
  } catch (const Error& e) {
    return report(kFailure, e.what(), e.hint());
  } catch (const std::bad_alloc&) {
    return report(kFailure, "out of memory", "use a smaller model, batch or sequence");
  } catch (const c10::Error& e) {
    return report(kFailure, e.what_without_backtrace(), "");
  } catch (const std::exception& e) {
    return report(kFailure, e.what(), "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  crope::cli::bound_openmp_spin(argv);
  crope::ops::keep_tensor_memory();
  const int status = run_guarded(argc, argv);
  if (status == 0) return 0;
  // Threads that wait for a rank which will not answer are left where they are.
  std::fflush(nullptr);
  std::_Exit(status);
}
