#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::diag {

/// Certain fixes that can be carried out at once.
struct FixSet {
  /// By file and place; no two overlap and none is there twice.
  std::vector<FixIt> edits;
  /// The diagnostics that they mend, as indices into what was given.
  std::vector<size_t> mended;
};

/// Chooses from the fixes of all diagnostics, in order: those of one diagnostic together or not at all, all of them
/// certain and in files for which `may_change` holds.
FixSet chooseFixes(const std::vector<Diagnostic>& diagnostics, const std::function<bool(source::FileId)>& may_change);

/// `text` of `file` after the edits of that file. They must be as chooseFixes leaves them.
std::string applyFixes(std::string_view text, source::FileId file, const std::vector<FixIt>& edits);

}  // namespace expc::diag
