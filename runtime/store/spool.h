#pragma once

// Where a value goes that the results folder has no room for, until it has.

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

#include "runtime/store/entry.h"

namespace expc::store {

/// Keeps an entry of the store of that name in $TMPDIR (or /tmp), durably. What comes back is always an error, which
/// says where the entry is, or that it is lost.
llvm::Error spool(const std::string& store, const Entry& entry);

/// The lines that were kept of a store on this machine; none if there are none, or they are not ours.
std::vector<Entry> spooled(const std::string& store);

/// They are in the journal now.
void dropSpool(const std::string& store);

}  // namespace expc::store
