#pragma once

// The variables that a command of the study gets from the environment of `expc`: an allow list, so that a result does
// not hang on what nobody recorded. Private to this directory.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

namespace expc::engine {

struct CommandEnvironment {
  std::vector<std::string> variables;  // "NAME=value", sorted: all that there is but what expc sets itself
  /// Of those that must agree for two trials to be compared: all but who runs it and where temporary files go.
  std::string digest;
  /// The same for people. Of one that was passed by name only a digest: it may be a secret.
  llvm::json::Object recorded;
};

/// Picks what commands get out of `all` ("NAME=value"). `passed` are names that the user asked for besides
/// (--pass-env); the error says that one is not set, or is no name.
llvm::Expected<CommandEnvironment> commandEnvironment(const std::vector<std::string>& all,
                                                      const std::vector<std::string>& passed);

/// The variables of this process.
std::vector<std::string> ownVariables();

}  // namespace expc::engine
