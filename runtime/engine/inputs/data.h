#pragma once

// The data that a plan's points read. It must be there and be the same as before, which a digest shows; taking the
// digest also brings it into the page cache. With --scratch, trials read copies on a disk of their machine, which are
// made before the first trial so that no trial pays for it.

#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <map>
#include <string>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::engine::inputs {

/// Called now and then during long work; its error ends the work and is returned.
using Tick = std::function<Error()>;

/// Error if the data path does not exist; it says where it was looked for and what to do.
Error checkDataExists(const Plan& plan, const std::string& path);
/// Whether data is made up, as a file MADE_UP in its folder says (experiments/reference/made_up.py).
bool isMadeUp(const Plan& plan, const std::string& path);
/// Checks all data paths of the plan.
Error checkDataExists(const Plan& plan);

/// The digest of a file or folder (BLAKE3, 128 bits, hex) over names, sizes and contents, in the order of names. Names
/// are relative to the path, so equal data elsewhere has the same digest. Calls `tick` between pieces.
Expected<std::string> digestPath(const std::string& path, const Tick& tick);

/// The digest of each data path of the plan, by path.
Expected<std::map<std::string, std::string>> digestData(const Plan& plan, const Tick& tick);

/// Adds a file to `hasher`: its `name`, size and content. Calls `tick` between pieces. `alone`, if given, gets the
/// input that digestPath() makes of this file by itself, so that the file is read once for both.
Error addToDigest(llvm::BLAKE3& hasher, const std::string& name, const std::string& path, const Tick& tick,
                  llvm::BLAKE3* alone = nullptr);

/// A file or folder of data and the place of its copy.
struct ScratchCopy {
  std::string from, to;  // absolute
  std::string digest;    // of the original; a copy is valid if it has this digest
};

/// Plans the copies of all data of the plan, by path as in Plan::data_paths. They lie below `scratch` in a folder of
/// this user's own, in a folder for each digest, so that runs share them. `digests` has an entry for each path.
/// Programs are not copied, since a program may need what lies beside it.
std::map<std::string, ScratchCopy> scratchCopies(const Plan& plan, const std::map<std::string, std::string>& digests,
                                                 const std::string& scratch);

/// The parameters with absolute data paths, since the program runs in another folder than the study's.
json::Object absoluteParameters(const Plan& plan, json::Object parameters);

/// The parameters with data paths replaced by the paths of their copies, where there are any.
json::Object withCopies(json::Object parameters, const std::map<std::string, ScratchCopy>& copies);

/// Makes the copy on this machine, unless one with that digest is there; reading it for the digest brings it into the
/// page cache. Several processes may do this at once: the first to finish wins, and a part of a copy is never left
/// behind. Errors: a path cannot be written, or the data changed meanwhile. Calls `tick` between pieces.
Error makeCopy(const ScratchCopy& copy, const Tick& tick);

}  // namespace expc::engine::inputs
