#pragma once

// The folders in which commands run, one for each trial.

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/engine/command_files.h"

namespace expc::engine {

/// Where the trial of this number runs.
inline std::string trialFolder(const std::string& results, int64_t trial) {
  return results + "/trials/" + std::to_string(trial);
}

/// Making a folder and its files costs a file system more than a short program takes, so the folder of a trial that
/// nobody wants becomes the next trial's, with its output files, which are written anew.
class TrialFolders {
 public:
  explicit TrialFolders(const std::string& results) : spare_(results + "/trials/.next") {}
  ~TrialFolders();  // removes the one that no trial needed any more
  TrialFolders(const TrialFolders&) = delete;
  TrialFolders& operator=(const TrialFolders&) = delete;

  /// As makeTrialFolder.
  llvm::Error make(const std::string& folder, const CommandFiles& files);
  /// Removes it, with all that its trial wrote.
  void drop(const std::string& folder);

 private:
  const std::string spare_;
  bool has_spare_ = false;
};

/// What comes before ".0.log" in the name of the log of a command's trial, which lies in its folder.
inline constexpr char kCommandLog[] = "expc";

}  // namespace expc::engine
