#pragma once

// Reads metrics again out of what commands wrote, so that nothing runs again only because it was read wrongly.

#include <llvm/Support/Error.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::engine {

struct ExtractOutcome {
  unsigned read = 0;                        // trials that have new values
  unsigned as_before = 0;                   // were read as the plan says already
  unsigned not_kept = 0;                    // have no kept output
  std::map<std::string, unsigned> refused;  // why trials could not be read -> how many
  std::vector<std::string> messages;        // what the store had to say
};

/// For each trial of a command of the plan that is valid, or failed although its program ended well: reads the metrics
/// that the plan reads otherwise than was read, or anew, out of the output that was kept of it. Other values stay. The
/// results folder must not be in use.
llvm::Expected<ExtractOutcome> extract(const plan::Plan& plan, const std::string& results,
                                       const std::string& command_worker);

}  // namespace expc::engine
