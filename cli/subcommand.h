#pragma once

// Helpers that declare subcommands and options on top of CLI11. Every subcommand gets a struct of options that lives as
// long as the parser, and a function that is called with it; parsing only notes which call to make (`Asked`), so
// nothing runs before the whole command line is known to be right. Options added through these helpers also show up in
// completion, which reads them back from the parser.

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"

namespace expc::cli {

/// The call that the command line asks for. The chosen subcommand sets it during parsing; main calls it afterwards.
using Asked = std::function<Exit(const Console&)>;

/// The commands of the program, or those of a command that has some.
struct Commands {
  CLI::App& parent;
  Asked& asked;

  /// Adds one that calls `run` with its options, and returns both: further options are bound to fields of the returned
  /// struct, which the command's callback keeps alive. `footer` ends its help; without one, CLI11 uses the footer of
  /// `parent`.
  template <typename Options>
  std::pair<CLI::App&, Options&> add(const char* name, const char* help, Exit (*run)(const Options&, const Console&),
                                     const char* footer = nullptr) const {
    const auto options = std::make_shared<Options>();
    CLI::App* command = parent.add_subcommand(name, help);
    command->callback([&asked = asked, options, run] {
      asked = [options, run](const Console& console) { return run(*options, console); };
    });
    if (footer) command->footer(footer);
    return {*command, *options};
  }
};

/// Adds an option to `command`, bound to `value`; `type` is the word for its value in the help. An option bound to a
/// vector may be repeated and takes one word each time; a positional one takes all that are left.
template <typename T>
CLI::Option* addOption(CLI::App& command, const char* name, const char* type, T& value, const std::string& help) {
  CLI::Option* option = command.add_option(name, value, help)->type_name(type);
  if constexpr (requires { value.emplace_back(); })
    if (*name == '-') option->allow_extra_args(false);
  return option;
}

/// Adds an option that takes one of a few words, each with the value that it sets. Help and errors list the words in
/// the order given, and completion finds them in the description of the validator.
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

/// Adds `--format`, which takes one of `formats`; `format` keeps its present value as the default.
inline void addFormat(CLI::App& command, Format& format,
                      std::initializer_list<Format> formats = {Format::Text, Format::Json},
                      const char* help = "How to print (default text)") {
  std::vector<std::pair<std::string, Format>> choices;
  for (const Format one : formats) choices.emplace_back(wordOf(one), one);
  addChoice(command, "--format", "FORMAT", format, choices, help);
}

/// The footer of commands that reach no verdicts: their exit codes.
inline constexpr const char* kPlainExitCodes = "Exit codes: 0 success, 1 error, 2 usage.";

/// The workloads for which `expc new` has a study, each with the name of its file in cli/starters.
inline constexpr std::pair<std::string_view, std::string_view> kStarters[] = {
    {"image.mobilenet_v2", "image"}, {"llm.finetune", "llm"}, {"command", "command"}, {"torch", "torch"}};

/// Adds the study's file and the options that select a study and change it.
void addStudyOptions(CLI::App& command, StudyOptions& options, const char* file_help);

/// Adds the subcommands that help to write studies; they neither measure nor judge.
void addTools(const Commands& to);

/// Adds `expc data` and its subcommands.
void addDataTools(const Commands& to);

/// Adds `expc store` and its subcommands.
void addStoreTools(const Commands& to);

/// Answers `expc complete-words …`, which the scripts of cli/completion call: prints the words that could stand at the
/// cursor. Commands, options and choices are those that `app` declares.
Exit printCompletion(CLI::App& app, const std::vector<std::string>& arguments, const Console& console);

/// Returns the names of the workloads of a built-in module ("std.image", "image") or of a file, as far as it can be
/// read; empty if it cannot be opened.
std::vector<std::string> workloadsOf(const std::string& module);

/// Splits a line into words by the quoting rules of a shell; nothing is expanded.
std::vector<std::string> shellWords(const std::string& line);

/// `expc completion SHELL`: prints the script that a shell loads.
Exit printCompletionScript(const std::string& shell, const Console& console);

}  // namespace expc::cli
