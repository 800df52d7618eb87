#pragma once

// The files that a command of the study needs from this machine: its program, and the inputs that stand in each trial's
// folder. They are looked up once for a run, digested, and watched (file_watch.h), so that all trials see the same
// files.

#include <map>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/inputs/imports.h"
#include "runtime/plan/plan.h"

namespace expc::engine::inputs {

/// An input of a command, and how the trial's folder gets it.
struct InputFile {
  std::string name;   // below the study's folder and below the trial's; "": outside of the study, so not linked
  std::string path;   // absolute
  bool hard = true;   // a hard link if the file system allows it, else a symbolic one
  bool copy = false;  // the trial's folder gets a copy of its own
  bool argument_only = false;  // `inputs` does not name it
};

/// The files of one workload, the same for all trials of a run.
struct CommandFiles {
  std::vector<InputFile> inputs;  // sorted by path, each once
  /// Programs that are started, as absolute paths. There are several if a parameter names the program, or if something
  /// runs before it. A program that is a parameter of type path is not among them: it counts as data of the points that
  /// name it.
  std::vector<std::string> programs;
  /// Modules that scripts import and that are no inputs; for a hint.
  std::vector<Import> imports;
};

/// Finds the files of each workload of the plan; empty for a built-in one, and for one without points. Patterns skip
/// the folder `results`, and hidden files unless they name them. The error names the workload and the way out: no
/// program, an input or pattern without a file, a `${name}` that is no parameter, a metric that is read from an input.
Expected<std::vector<CommandFiles>> findCommandFiles(const Plan& plan, const std::string& results);

/// The digest of one command (BLAKE3, 128 bits, hex): contents of its programs, names and contents of its inputs, and
/// how something is prepared. `parts` gets the digest of each file, by its name. Calls `tick` between pieces.
Expected<std::string> digestCommand(const Plan& plan, unsigned workload, const CommandFiles& files, const Tick& tick,
                                    std::map<std::string, std::string>* parts = nullptr);
/// Adds the digest of each command to `digests`, by store::commandKey, and those of its files, by store::partKey, so
/// that a later run can say which file differs.
Error digestCommands(const Plan& plan, const std::vector<CommandFiles>& files,
                     std::map<std::string, std::string>& digests, const Tick& tick);

/// The digest of the inputs of one command, names and contents, without its program. A lock holds this digest, since
/// programs differ from machine to machine. It does not depend on points.
Expected<std::string> digestInputs(const Plan& plan, unsigned workload, const Tick& tick);

}  // namespace expc::engine::inputs
