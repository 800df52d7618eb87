#pragma once

// The data that a plan's points read: there at all, the same as before (digest), and in the page cache (reading it for
// the digest). And copies of them on a disk of the machine that trials run on, which are made before the first trial,
// so that none of it is timed.

#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <map>
#include <string>

#include "runtime/plan/plan.h"

namespace expc::engine::inputs {

/// Is called now and then while something takes long; its error ends that.
using Tick = std::function<llvm::Error()>;

/// An error that names the path and how to get it, if a data path of the plan does not exist.
llvm::Error checkDataExists(const plan::Plan& plan, const std::string& path);
/// The same of all of them.
llvm::Error checkDataExists(const plan::Plan& plan);

/// The digest of a file or folder: BLAKE3 over names, sizes and contents, in the order of names. Calls `tick` between
/// pieces.
llvm::Expected<std::string> digestPath(const std::string& path, const Tick& tick);

/// The digest of each data path.
llvm::Expected<std::map<std::string, std::string>> digestData(const plan::Plan& plan, const Tick& tick);

/// Adds a file to a digest: `name`, its size and its content. Calls `tick` between pieces. `alone` gets what digestPath
/// makes of the file by itself, so that it is read once.
llvm::Error addToDigest(llvm::BLAKE3& hasher, const std::string& name, const std::string& path, const Tick& tick,
                        llvm::BLAKE3* alone = nullptr);

/// One file or folder, and where its copy is.
struct ScratchCopy {
  std::string from, to;  // absolute
  std::string digest;    // of what is there
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

}  // namespace expc::engine::inputs
