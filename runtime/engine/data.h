#pragma once

// The data that a plan's points read: there at all, the same as before (digest), and in the page cache (reading it for
// the digest).

#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/Error.h>

#include <functional>
#include <map>
#include <string>

#include "runtime/plan/plan.h"

namespace expc::engine {

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

}  // namespace expc::engine
