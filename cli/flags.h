// The flags of a command. A thin layer over CLI11, which is slow to compile: only flags.cc, command_tree.cc and main.cc
// include it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "crope/base/choice.h"

namespace CLI {
class App;
}

namespace crope::cli {

// "--num-layers" of the field num_layers.
std::string flag_name(std::string field);

// Every value given by reference must outlive the parsing, and holds its default before it. Names are long and
// kebab-case: "--ids-file". If a flag is given twice, the last one counts: a script can append to its defaults.
class Flags {
 public:
  explicit Flags(CLI::App& app) : app_(app) {}

  // Sets the heading of --help for options and commands declared from here on; "" is "Options".
  void group(const std::string& heading) { group_ = heading; }

  // An argument without a name. The list takes all that follow, and at least one.
  void positional(const char* name, std::string& value, const char* help);
  void positional(const char* name, std::vector<std::string>& values, const char* help);

  void option(const std::string& name, std::string& value, const std::string& help);
  void option(const std::string& name, std::vector<std::string>& values, const std::string& help);  // may be repeated
  void option(const std::string& name, std::int64_t& value, const std::string& help);
  void option(const std::string& name, int& value, const std::string& help);
  void option(const std::string& name, double& value, const std::string& help);
  void option(const std::string& name, bool& value, const std::string& help);  // present or absent, no value

  // One of a few words.
  template <typename E>
  void option(const std::string& name, Choice<E>& value, const std::string& help) {
    word_option(name, std::string(value.name()), help,
                [&value, name](const std::string& word) { value = Choice<E>::by_name(word, name); });
  }

  // A flag that acts without a command: `action` runs as soon as it is parsed, then the program ends.
  void immediate(const std::string& name, const std::string& help, std::function<void(const std::string&)> action);

  void require(const std::string& name);

  // Exactly one of these must be given.
  void require_one_of(std::initializer_list<const char*> names);

  // Whether the user gave the flag.
  bool given(const std::string& name) const;

  // Sets the action that runs once the line has been parsed. It throws Error to fail.
  void run(std::function<void()> action);

  // A command inside this one; one of them must be chosen.
  Flags command(const std::string& name, const std::string& summary, const std::string& example);

 private:
  void word_option(const std::string& name, const std::string& otherwise, const std::string& help,
                   std::function<void(const std::string&)> take);

  CLI::App& app_;
  std::string group_;
};

}  // namespace crope::cli
