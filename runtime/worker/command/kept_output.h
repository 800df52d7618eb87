#pragma once

// Keeps the output of a program in one compressed file of bounded size, so that a corrected pattern
// or a new metric can read it again without running the program.

#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"
#include "runtime/worker/command/process.h"

namespace expc::command {

/// The most bytes of one trial's output that are kept.
inline constexpr uint64_t kMostKept = 16ull << 20;

/// The files in the trial's folder that are worth keeping: both streams, and all that metrics and
/// expectations read.
std::vector<std::string> filesRead(const plan::Command& command);

/// Writes those of `files` in `folder` that exist to `path`, in their order while they fit into
/// kMostKept, together with the measurements of the process. Writes nothing if all are empty or
/// missing.
Error keepOutput(const std::string& path, const std::string& folder, const std::vector<std::string>& files,
                 const ProgramEnd& end);

/// The contents of a file of kept output, besides the unpacked files.
struct KeptOutput {
  ProgramEnd end;                     // the measurements of the process
  std::vector<std::string> left_out;  // files that did not fit
};
/// Unpacks `path` into `folder`, which must exist. The file may be a stranger's: nothing is written
/// outside the folder, and no more than kMostKept allows.
Expected<KeptOutput> unpackOutput(const std::string& path, const std::string& folder);

}  // namespace expc::command
