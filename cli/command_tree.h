// The commands and flags as data, from which --generate makes man pages and completions.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace crope::cli {

struct FlagEntry {
  std::vector<std::string> names;  // "--type", "--dtype"; for a positional argument its name: "DIR"
  std::string group;               // "Optimiser", or "Options"
  std::string help;
  std::string value;      // kind of its value: TEXT, INT, FLOAT; empty for a switch
  std::string otherwise;  // the default, where there is one
  bool is_required = false;
};

struct CommandEntry {
  std::string name;   // with the commands around it: "crope data prepare"
  std::string group;  // the task of --help
  std::string summary;
  std::string footer;  // its example
  std::vector<FlagEntry> arguments;
  std::vector<FlagEntry> flags;
  std::vector<CommandEntry> commands;
};

CommandEntry describe(const CLI::App& app);

// The command and everything inside it, outermost first.
std::vector<const CommandEntry*> all_commands(const CommandEntry& root);

// "train" of "crope train".
std::string last_word(const std::string& name);

}  // namespace crope::cli
