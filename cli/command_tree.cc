#include "cli/command_tree.h"

#include <CLI/CLI.hpp>

namespace crope::cli {
namespace {

FlagEntry entry_of(const CLI::Option& option) {
  FlagEntry entry{.names = {},
                  .group = option.get_group(),
                  .help = option.get_description(),
                  .value = option.get_items_expected_max() == 0 ? "" : option.get_type_name(),
                  .otherwise = option.get_default_str(),
                  .is_required = option.get_required()};
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_positional()) entry.names = {option.get_name(/*positional=*/true)};
  return entry;
}

// Flags that exclude each other live in a nameless command inside.
void take_options(const CLI::App& app, CommandEntry& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (app.get_name().empty() && option == app.get_help_ptr()) continue;  // the command has its own
    (option->get_positional() ? command.arguments : command.flags).push_back(entry_of(*option));
  }
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* each) { return each->get_name().empty(); })) {
    take_options(*group, command);
  }
}

CommandEntry describe_within(const CLI::App& app, const std::string& outer) {
  CommandEntry command{.name = outer + app.get_name(),
                       .group = app.get_group(),
                       .summary = app.get_description(),
                       .footer = app.get_footer(),
                       .arguments = {},
                       .flags = {},
                       .commands = {}};
  take_options(app, command);
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* inner) { return !inner->get_name().empty(); })) {
    command.commands.push_back(describe_within(*each, command.name + " "));
  }
  return command;
}

}  // namespace

CommandEntry describe(const CLI::App& app) {
  return describe_within(app, "");
}

std::vector<const CommandEntry*> all_commands(const CommandEntry& root) {
  std::vector<const CommandEntry*> all = {&root};
  for (const CommandEntry& command : root.commands) {
    for (const CommandEntry* inner : all_commands(command)) all.push_back(inner);
  }
  return all;
}

std::string last_word(const std::string& name) {
  return name.substr(name.find_last_of(' ') + 1);
}

}  // namespace crope::cli
