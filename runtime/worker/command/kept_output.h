#pragma once

// What a program wrote, kept in one compressed file of a bounded size, so that a corrected pattern or a new metric can
// read it again.

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/worker/command/process.h"

namespace expc::command {

/// More than this of one trial is not kept.
inline constexpr uint64_t kMostKept = 16ull << 20;

/// The files in the trial's folder that are worth keeping: both streams, and what metrics and expectations read.
std::vector<std::string> filesRead(const plan::Command& command);

/// Writes those of `files` in `folder` that are there to `path`, in their order as long as they fit, with what was
/// measured of the process; nothing where none of them holds anything.
llvm::Error keepOutput(const std::string& path, const std::string& folder, const std::vector<std::string>& files,
                       const ProgramEnd& end);

struct KeptOutput {
  ProgramEnd end;                     // what was measured
  std::vector<std::string> left_out;  // files that did not fit
};
/// Unpacks `path` into `folder`, which must be there. The file may be a stranger's: nothing is written elsewhere, and
/// no more than is ever kept.
llvm::Expected<KeptOutput> unpackOutput(const std::string& path, const std::string& folder);

}  // namespace expc::command
