#pragma once

// The folders in which commands run, one for each trial.

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/engine/inputs/command_files.h"

namespace expc::engine::inputs {

/// Where the trial of this number runs.
inline std::string trialFolder(const std::string& results, int64_t trial) {
  return results + "/trials/" + std::to_string(trial);
}

/// Makes `folder` anew, with a link to each input, or a copy of it. Files there that cannot be removed are an error.
llvm::Error makeTrialFolder(const std::string& folder, const CommandFiles& inputs);
/// Whether there is no room beside the folder of a trial whose program has ended, so that what it wrote may be cut off:
/// ENOSPC or EDQUOT, as the system says to a few bytes more where it says that little is free; else 0.
int noRoomBeside(const std::string& folder);
/// In a folder that stays: hard links to inputs become symbolic ones, so that the user's files have one name again.
void leaveInputs(const std::string& folder, const CommandFiles& files);

/// Making a folder and its files costs a file system more than a short program takes, so the folder of a trial that
/// nobody wants becomes the next trial's, and so do the files of its outputs, which are written anew.
class TrialFolders {
 public:
  explicit TrialFolders(const std::string& results) : spare_(results + "/trials/.next") {}
  ~TrialFolders() { remove(spare_); }  // the one that no trial needed any more
  TrialFolders(const TrialFolders&) = delete;
  TrialFolders& operator=(const TrialFolders&) = delete;

  /// Makes a trial's folder as makeTrialFolder does, with a folder for its outputs.
  llvm::Error make(const std::string& folder, const CommandFiles& files);
  /// Of a trial whose program has ended: what was caught of it stands in its folder, too, where nothing else is called
  /// so.
  static void keep(const std::string& folder);
  /// Removes it, with all that its trial wrote; "", or what stays and why.
  std::string drop(const std::string& folder);

 private:
  static std::string remove(const std::string& folder);

  const std::string spare_;
  bool has_spare_ = false;
};

}  // namespace expc::engine::inputs
