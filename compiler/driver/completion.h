#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/console.h"

namespace expc::driver {

/// What could stand at the cursor.
struct Completion {
  struct Candidate {
    std::string word, meaning;
  };
  std::vector<Candidate> candidates;  // those that begin with the word being typed
  enum class Paths { None, Folders, Files } paths = Paths::None;
  std::string ending;  // of files: ".exp"; "" takes any
};

/// `words` stand after `expc`; the last one, maybe empty, is being typed. Commands, options and choices are those that
/// `app` declares.
Completion completeWords(CLI::App& app, const std::vector<std::string>& words);

/// A command line up to the cursor as a shell would cut it into words: quotes and backslashes are resolved, an open
/// quote goes on to the end. The last word is the one being typed.
std::vector<std::string> splitLine(std::string_view line);

/// `expc complete-words …`, for the scripts of compiler/driver/completion. Returns the exit code.
int printCompletion(CLI::App& app, const std::vector<std::string>& arguments, const Console& console);

/// `expc completion SHELL`
int printCompletionScript(const std::string& shell, const Console& console);

}  // namespace expc::driver
