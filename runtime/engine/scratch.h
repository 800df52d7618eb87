#pragma once

// Copies of a plan's data on a disk of the machine that trials run on. They are made before the first trial, so that
// none of it is timed.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <map>
#include <string>

#include "runtime/engine/data.h"
#include "runtime/plan/plan.h"

namespace expc::engine {

/// One file or folder, and where its copy is.
struct ScratchCopy {
  std::string from, to;  // absolute
  std::string digest;    // of what is there (data.h)
};

/// The copies of all data that the plan's points read, by path as in Plan::data_paths, below `scratch`: a folder of
/// this user's own has one for each digest, so that runs share them. `digests` has one for each path. A program has
/// none: it may need what lies beside it.
std::map<std::string, ScratchCopy> scratchCopies(const plan::Plan& plan,
                                                 const std::map<std::string, std::string>& digests,
                                                 const std::string& scratch);

/// Parameters with data paths made absolute: the program runs in another folder than the one that the study's paths
/// start from.
llvm::json::Object absoluteParameters(const plan::Plan& plan, llvm::json::Object parameters);

/// Parameters that name the copies of data where there are any.
llvm::json::Object withCopies(llvm::json::Object parameters, const std::map<std::string, ScratchCopy>& copies);

/// Makes the copy on this machine, unless it is there with that digest. Reading it for the digest leaves it in the page
/// cache. Others may do the same at the same time; whoever is first has made it. The error says what cannot be written,
/// or that the data have changed; a part of a copy is not left behind. Calls `tick` between pieces.
llvm::Error makeCopy(const ScratchCopy& copy, const Tick& tick);

}  // namespace expc::engine
