// How --help looks: one blank line between groups of flags, and flags that exclude each other under a heading.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace crope::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
    return make_description(app) + make_usage(app, name) + make_positionals(app) + all_groups(app) +
           make_subcommands(app, mode) + "\n" + make_footer(app);
  }

  // Flags of which exactly one must be given: CLI11 keeps them in a nameless command inside.
  std::string make_expanded(const CLI::App* app) const override {
    if (!app->get_name().empty()) return CLI::Formatter::make_expanded(app);
    return make_group("Exactly one of these", /*is_positional=*/false,
                      app->get_options([app](const CLI::Option* option) { return option != app->get_help_ptr(); }));
  }

 private:
  std::string all_groups(const CLI::App* app) const {
    std::string text;
    for (const std::string& group : app->get_groups()) {
      const auto options = app->get_options(
          [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
      if (!group.empty() && !options.empty()) text += make_group(group, /*is_positional=*/false, options);
    }
    return text;
  }
};

}  // namespace crope::cli
