#pragma once

// The files that a command of the study needs from the machine: its program, and the inputs that stand in each trial's
// folder.

#include <llvm/Support/Error.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/engine/inputs/data.h"
#include "runtime/engine/inputs/imports.h"
#include "runtime/plan/plan.h"

namespace expc::engine::inputs {

struct InputFile {
  std::string name;   // below the study's folder, and of the link in the trial's; "" if it is outside, so not linked
  std::string path;   // absolute
  bool hard = true;   // linked hard, where the file system allows it
  bool copy = false;  // the trial's folder has a copy of its own
};

/// The files of one workload, looked up once for a run, so that all of its trials see the same.
struct CommandFiles {
  std::vector<InputFile> inputs;  // by path, each once
  /// Files that are started, absolute; more than one where a parameter names it or something is prepared. One that is a
  /// parameter of type path is not among them: it is data of the points that name it.
  std::vector<std::string> programs;
  std::vector<Import> imports;
};

/// For each workload of the plan (nothing for a built-in one, nor where no point is left of it). Patterns do not look
/// into `results`, nor at hidden files unless they name them. The error names the workload and the way out: no program,
/// an input or pattern without a file, a `${name}` that is no parameter, a metric read from a file that is an input.
llvm::Expected<std::vector<CommandFiles>> findCommandFiles(const plan::Plan& plan, const std::string& results);

/// The digest of one command: of the programs' contents, the inputs' names and contents, and how something is prepared.
/// `parts` gets the digest of each file, by its name.
llvm::Expected<std::string> digestCommand(const plan::Plan& plan, unsigned workload, const CommandFiles& files,
                                          const Tick& tick, std::map<std::string, std::string>* parts = nullptr);
/// Adds the digest of each command, by store::commandKey, and of its files, by store::partKey, so that a later run can
/// say which one differs.
llvm::Error digestCommands(const plan::Plan& plan, const std::vector<CommandFiles>& files,
                           std::map<std::string, std::string>& digests, const Tick& tick);

/// Digests names and contents of the inputs of one of the plan's commands, without its program. A lock holds this
/// digest, since programs differ from machine to machine; points are not asked for.
llvm::Expected<std::string> digestInputs(const plan::Plan& plan, unsigned workload, const Tick& tick);

}  // namespace expc::engine::inputs
