#include "cli/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <type_traits>

namespace crope::cli {
namespace {

// Puts the option under a heading of --help.
CLI::Option* place(CLI::Option* option, const std::string& group) {
  return group.empty() ? option : option->group(group);
}

// The words of messages about numbers. CLI11's own limits numbers silently: 1e20 of an integer became 2^63 - 1.
template <typename T>
std::string number_problem(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, value);
  if (code == std::errc::result_out_of_range) return fmt::format("'{}' is out of range", text);
  if (code == std::errc() && stop == end) return "";
  return fmt::format("expected a {}, found '{}'", std::is_integral_v<T> ? "whole number" : "number", text);
}

template <typename T>
void add_option(CLI::App& app, const std::string& group, const std::string& name, T& value, const std::string& help) {
  CLI::Option* option = place(app.add_option(name, value, help), group)
                            ->capture_default_str()
                            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  if constexpr (std::is_arithmetic_v<T>) option->check(CLI::Validator(number_problem<T>, ""));
}

}  // namespace

std::string flag_name(std::string field) {
  std::ranges::replace(field, '_', '-');
  return "--" + field;
}

void Flags::positional(const char* name, std::string& value, const char* help) {
  app_.add_option(name, value, help)->required();
}

void Flags::positional(const char* name, std::vector<std::string>& values, const char* help) {
  app_.add_option(name, values, help)->required();
}

void Flags::option(const std::string& name, std::string& value, const std::string& help) {
  add_option(app_, group_, name, value, help);
}

void Flags::option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  // One value each time, so that arguments behind it are not taken for more values.
  place(app_.add_option(name, values, help), group_)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Flags::option(const std::string& name, std::int64_t& value, const std::string& help) {
  add_option(app_, group_, name, value, help);
}

void Flags::option(const std::string& name, int& value, const std::string& help) {
  add_option(app_, group_, name, value, help);
}

void Flags::option(const std::string& name, double& value, const std::string& help) {
  add_option(app_, group_, name, value, help);
}

void Flags::option(const std::string& name, bool& value, const std::string& help) {
  place(app_.add_flag(name, value, help), group_);
}

void Flags::word_option(const std::string& name, const std::string& otherwise, const std::string& help,
                        std::function<void(const std::string&)> take) {
  place(app_.add_option_function<std::string>(name, std::move(take), help), group_)
      ->default_str(otherwise)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Flags::immediate(const std::string& name, const std::string& help,
                      std::function<void(const std::string&)> action) {
  const auto act = [action = std::move(action)](const std::string& value) {
    action(value);
    throw CLI::Success();
  };
  app_.add_option_function<std::string>(name, act, help)->trigger_on_parse();
}

void Flags::require(const std::string& name) {
  app_.get_option(name)->required();
}

void Flags::require_one_of(std::initializer_list<const char*> names) {
  CLI::Option_group* group = app_.add_option_group("exactly one of");
  for (const char* name : names) group->add_option(app_.get_option(name));
  group->require_option(1);
}

bool Flags::given(const std::string& name) const {
  return app_.count(name) > 0;
}

void Flags::run(std::function<void()> action) {
  app_.callback(std::move(action));
}

Flags Flags::command(const std::string& name, const std::string& summary, const std::string& example) {
  app_.require_subcommand(1);
  CLI::App* subcommand = app_.add_subcommand(name, summary);
  subcommand->footer("Example: " + example);
  if (!group_.empty()) subcommand->group(group_);
  return Flags(*subcommand);
}

}  // namespace crope::cli
