#pragma once

// The folders in which commands run: one for each trial, below the results folder, with links to the inputs. A program
// may leave anything there, so nothing about a used folder is taken for granted.

#include <string>

#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/command_files.h"

namespace expc::engine::inputs {

/// The folder of the trial with this number.
inline std::string trialFolder(const std::string& results, int64_t trial) {
  return results + "/trials/" + std::to_string(trial);
}

/// Makes `folder` anew, with a link to each input, or a copy of it. Error: old files cannot be removed, or new ones not
/// made.
Error makeTrialFolder(const std::string& folder, const CommandFiles& inputs);
/// Whether the disk of a trial's folder is full, so that output of its program may be cut off. Returns ENOSPC or
/// EDQUOT, or 0 if there is room. Where little is free it tries to write a few bytes, since quotas and reserved blocks
/// show only then.
int noRoomBeside(const std::string& folder);
/// Prepares a folder that is kept: hard links to inputs become symbolic ones, so that the user's files have one name
/// again and cannot be changed through the folder.
void leaveInputs(const std::string& folder, const CommandFiles& files);

/// Recycles trial folders. Making a folder and its output files can cost a file system more time than a short program
/// takes. So the folder of a trial that nobody wants is emptied and becomes the next trial's, together with the folder
/// of its outputs. That one is not emptied: whoever writes a file there begins it anew, and whoever reads one must know
/// that it is of this trial.
class TrialFolders {
 public:
  TrialFolders() = default;
  ~TrialFolders() {
    if (!spare_.empty()) remove(spare_);
  }
  TrialFolders(const TrialFolders&) = delete;
  TrialFolders& operator=(const TrialFolders&) = delete;

  /// Makes a trial's folder as makeTrialFolder does, with a folder for its outputs.
  Error make(const std::string& folder, const CommandFiles& files);
  /// For a folder that is kept: moves the captured output into it, except where the program made a file of that name.
  static void keep(const std::string& folder);
  /// Removes a folder with all that its trial wrote, or keeps it as the spare one. Returns "", or what cannot be
  /// removed and why.
  std::string drop(const std::string& folder);

 private:
  static std::string remove(const std::string& folder);

  std::string spare_;  // keeps its name until it becomes another trial's; "": there is none
};

}  // namespace expc::engine::inputs
