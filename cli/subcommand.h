#pragma once

// What subcommands are declared with.

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console.h"

namespace expc::cli {

/// What the command line asks for: set by the subcommand on it, and called when all of it is read.
using Asked = std::function<int(const Console&)>;

/// Adds a subcommand that calls `run` with its options, which what is added to it fills. `footer` ends its help, else
/// what ends that of `parent`.
template <typename Options>
std::pair<CLI::App&, Options&> addCommand(CLI::App& parent, Asked& asked, const char* name, const char* help,
                                          int (*run)(const Options&, const Console&), const char* footer = nullptr) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = parent.add_subcommand(name, help);
  command->callback(
      [&asked, options, run] { asked = [options, run](const Console& console) { return run(*options, console); }; });
  if (footer) command->footer(footer);
  return {*command, *options};
}

/// An option, with the word that stands for its value in the help. One that may be given several times takes one word
/// each time.
template <typename T>
CLI::Option* addOption(CLI::App& command, const char* name, const char* type, T& value, const std::string& help) {
  CLI::Option* option = command.add_option(name, value, help)->type_name(type);
  if constexpr (requires { value.emplace_back(); })
    if (*name == '-') option->allow_extra_args(false);
  return option;
}

/// An option that takes one of a few words. Help and errors list them in the order given, and completion finds them.
template <typename T>
CLI::Option* addChoice(CLI::App& command, const std::string& name, const char* type, T& value,
                       const std::vector<std::pair<std::string, T>>& choices, const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : choices) words.push_back(word);
  return command
      .add_option_function<std::string>(
          name,
          [&value, choices](const std::string& given) {
            for (const auto& [word, meaning] : choices)
              if (word == given) value = meaning;
          },
          help)
      ->check(CLI::IsMember(words))
      ->type_name(type);
}

/// `--format`, which takes one of `formats`.
inline void addFormat(CLI::App& command, Format& format,
                      std::initializer_list<Format> formats = {Format::Text, Format::Json},
                      const char* help = "How to print (default text)") {
  std::vector<std::pair<std::string, Format>> choices;
  for (const Format one : formats) choices.emplace_back(wordOf(one), one);
  addChoice(command, "--format", "FORMAT", format, choices, help);
}

/// The end of the help of commands that reach no verdicts.
inline constexpr const char* kPlainExitCodes = "Exit codes: 0 success, 1 error, 2 usage.";

/// The workloads that `expc new` has a study for, with the name of its file in cli/starters.
inline constexpr std::pair<std::string_view, std::string_view> kStarters[] = {
    {"image.mobilenet_v2", "image"}, {"llm.finetune", "llm"}, {"command", "command"}};

/// The subcommands that help to write studies: they neither measure nor judge.
void addTools(CLI::App& app, Asked& asked);

/// `expc data` and its subcommands.
void addDataTools(CLI::App& app, Asked& asked);

/// `expc store` and its subcommands.
void addStoreTools(CLI::App& app, Asked& asked);

/// `expc complete-words …`, for the scripts of cli/completion: prints what could stand at the cursor.
/// Commands, options and choices are those that `app` declares. Returns the exit code.
int printCompletion(CLI::App& app, const std::vector<std::string>& arguments, const Console& console);

/// The workloads of a built-in module ("std.image", "image") or a file, as far as it can be read.
std::vector<std::string> workloadsOf(const std::string& module);

/// The words of a line as a shell parts them.
std::vector<std::string> shellWords(const std::string& line);

/// `expc completion SHELL`
int printCompletionScript(const std::string& shell, const Console& console);

}  // namespace expc::cli
