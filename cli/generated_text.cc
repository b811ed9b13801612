#include "cli/generated_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"

namespace crope::cli {
namespace {

// `text` with `escape` before each character that is in `special`.
std::string escaped(const std::string& text, std::string_view special, std::string_view escape) {
  std::string out;
  for (const char letter : text) {
    if (special.find(letter) != std::string_view::npos) out += escape;
    out += letter;
  }
  return out;
}

// ---- the man page

// A line of roff: backslashes and hyphens are kept as typed, and a leading dot or quote is no request.
std::string roff(const std::string& text) {
  std::string out = escaped(text, "\\-", "\\");
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string man_entry(const FlagEntry& flag, bool is_argument) {
  std::string head;
  for (const std::string& name : flag.names) {
    if (!head.empty()) head += ", ";
    head += fmt::format("\\f{}{}\\fR", is_argument ? "I" : "B", roff(name));
  }
  if (!is_argument && !flag.value.empty()) head += fmt::format(" \\fI{}\\fR", roff(flag.value));
  std::string help = roff(flag.help);
  if (flag.is_required) help += " (required)";
  if (!flag.otherwise.empty()) help += fmt::format(" [default: {}]", roff(flag.otherwise));
  return fmt::format(".TP\n{}\n{}\n", head, help);
}

std::string man_flags(const CommandEntry& command) {
  std::string text;
  for (const FlagEntry& argument : command.arguments) text += man_entry(argument, /*is_argument=*/true);
  for (const FlagEntry& flag : command.flags) {
    if (flag.names.back() != "--help") text += man_entry(flag, /*is_argument=*/false);
  }
  return text;
}

std::string man_page(const CommandEntry& root, const std::string& version) {
  std::string text = fmt::format(
      ".TH CROPE 1 \"\" \"crope {}\" \"User Commands\"\n.SH NAME\ncrope \\- {}\n.SH SYNOPSIS\n.B crope\n.I COMMAND\n"
      "[\\fIFLAGS\\fR]\n.SH DESCRIPTION\n{}\nEach command prints its flags and an example with \\fB\\-\\-help\\fR.\n",
      version, roff(root.summary), roff(root.summary));
  text += ".SH OPTIONS\n" + man_flags(root);
  std::string group;
  for (const CommandEntry* command : all_commands(root)) {
    if (command == &root) continue;
    if (!command->group.empty() && command->group != group && command->group != "Subcommands") {
      group = command->group;
      text += fmt::format(".SH \"{}\"\n", roff(group));
    }
    text += fmt::format(".SS \"{}\"\n{}.\n", roff(command->name), roff(command->summary));
    text += man_flags(*command);
    if (command->commands.empty() && !command->footer.empty()) text += ".PP\n" + roff(command->footer) + "\n";
  }
  return text +
         ".SH \"EXIT STATUS\"\n0 finished, 1 failure, 2 usage, 130 or 143 stopped by a signal after the state was "
         "saved.\n";
}

// ---- completions: every script first finds the command that is being typed, then offers its words

std::vector<std::string> words_of(const CommandEntry& command) {
  std::vector<std::string> words;
  for (const CommandEntry& inner : command.commands) words.push_back(last_word(inner.name));
  for (const FlagEntry& flag : command.flags) {
    for (const std::string& name : flag.names) {
      if (name.starts_with("--")) words.push_back(name);
    }
  }
  return words;
}

std::string bash_script(const CommandEntry& root) {
  std::string known, words;
  for (const CommandEntry* command : all_commands(root)) {
    if (command != &root) known += (known.empty() ? "" : " | ") + fmt::format("'{}'", command->name);
    words += fmt::format("    '{}') words='{}' ;;\n", command->name, fmt::join(words_of(*command), " "));
  }
  return fmt::format(
      "# bash completion for crope: source it, or put it into share/bash-completion/completions/crope\n"
      "_crope() {{\n"
      "  local command=crope words= word\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$command $word\" in\n"
      "      {}) command=\"$command $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n"
      "}}\n"
      "complete -o default -F _crope crope\n",
      known, words);
}

// One line for each word of a command: its name and what it is.
template <typename Line>
std::string described_words(const CommandEntry& command, const Line& line) {
  std::string text;
  for (const CommandEntry& inner : command.commands) text += line(last_word(inner.name), inner.summary, false);
  for (const FlagEntry& flag : command.flags) {
    for (const std::string& name : flag.names) {
      if (name.starts_with("--")) text += line(name, flag.help, !flag.value.empty());
    }
  }
  return text;
}

std::string zsh_script(const CommandEntry& root) {
  std::string known, cases;
  const auto quoted = [](const std::string& text) {
    std::string out;
    for (const char letter : text) out += letter == '\'' ? "'\\''" : std::string(1, letter);
    return out;
  };
  for (const CommandEntry* command : all_commands(root)) {
    if (command != &root) known += (known.empty() ? "" : "|") + fmt::format("'{}'", command->name);
    cases += fmt::format("    '{}') entries=(\n{}    ) ;;\n", command->name,
                         described_words(*command, [&](const std::string& name, const std::string& help, bool) {
                           return fmt::format("      '{}:{}'\n", quoted(escaped(name, ":", "\\")), quoted(help));
                         }));
  }
  return fmt::format(
      "#compdef crope\n"
      "# zsh completion for crope: put it as _crope into a folder of $fpath\n"
      "_crope() {{\n"
      "  local command=crope word\n"
      "  local -a entries\n"
      "  for word in \"${{words[@]:1:CURRENT-2}}\"; do\n"
      "    case \"$command $word\" in\n"
      "      {}) command=\"$command $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command\" in\n{}  esac\n"
      "  _describe 'crope' entries || _files\n"
      "}}\n"
      "_crope \"$@\"\n",
      known, cases);
}

std::string fish_script(const CommandEntry& root) {
  std::string known, lines;
  const auto quoted = [](const std::string& text) { return "'" + escaped(text, "\\'", "\\") + "'"; };
  for (const CommandEntry* command : all_commands(root)) {
    if (command != &root) known += " " + quoted(command->name);
    lines += described_words(*command, [&](const std::string& name, const std::string& help, bool takes_value) {
      const bool is_flag = name.starts_with("--");
      return fmt::format("complete -c crope -n \"test (__crope_command) = {}\" {} {}{} -d {}\n", quoted(command->name),
                         is_flag ? "-l" : "-f -a", is_flag ? name.substr(2) : name, takes_value ? " -r" : "",
                         quoted(help));
    });
  }
  return fmt::format(
      "# fish completion for crope: put it as crope.fish into a folder of $fish_complete_path\n"
      "function __crope_command\n"
      "  set -l command crope\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    if contains -- \"$command $word\"{}\n"
      "      set command \"$command $word\"\n"
      "    end\n"
      "  end\n"
      "  echo $command\n"
      "end\n{}",
      known, lines);
}

}  // namespace

std::string generate(const std::string& kind, const CommandEntry& root, const std::string& version) {
  if (kind == "man") return man_page(root, version);
  if (kind == "bash") return bash_script(root);
  if (kind == "zsh") return zsh_script(root);
  if (kind == "fish") return fish_script(root);
  const std::array<std::string, 4> kinds = {"man", "bash", "zsh", "fish"};
  throw UsageError(fmt::format("--generate {}: unknown kind", kind), suggest(kind, kinds));
}

}  // namespace crope::cli
