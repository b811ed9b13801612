// A command as main() sees it: a name, a sentence, an example, and its flags.
#pragma once

#include "cli/flags.h"

namespace crope::cli {

struct Command {
  const char* name;
  const char* summary;
  const char* example;
  // Declares the flags and what to run. Errors are thrown, never printed.
  void (*declare)(Flags& flags);
};

extern const Command kAnalyzeCommand;
extern const Command kBenchCommand;
extern const Command kChatCommand;
extern const Command kClaimsCommand;
extern const Command kCompareCommand;
extern const Command kDataCommand;
extern const Command kEvalCommand;
extern const Command kExamplesCommand;
extern const Command kExportCommand;
extern const Command kGenerateCommand;
extern const Command kImportCommand;
extern const Command kInfoCommand;
extern const Command kParamsCommand;
extern const Command kPruneCommand;
extern const Command kQuantizeCommand;
extern const Command kReportCommand;
extern const Command kQuickstartCommand;
extern const Command kReproduceCommand;
extern const Command kScoreCommand;
extern const Command kServeCommand;
extern const Command kTokenizerCommand;
extern const Command kTrainCommand;
extern const Command kUpcycleCommand;

}  // namespace crope::cli
