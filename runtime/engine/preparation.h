#pragma once

// What runs once for several trials of a command: a build, a download. It runs before the first trial, so that nothing
// is built between two that are compared. Private to this directory.

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/engine/campaign.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/setup.h"
#include "runtime/store/store.h"

namespace expc::engine {

/// Adds to what must agree, and watches, the files that trials are started with from the folders of preparations. Of a
/// folder that is still to be made it is what the newest run in `known` found there, which may have been removed.
llvm::Error digestPrepared(Setup& setup, const std::string& results, const store::Contents& known,
                           const inputs::Tick& tick);

/// Fills the folders that are not there. Whether these files are others by that than digestPrepared() took them for:
/// then other trials count.
llvm::Expected<bool> prepareCommands(const Env& env, launch::Launcher& launcher);

}  // namespace expc::engine
