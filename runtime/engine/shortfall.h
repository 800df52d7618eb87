#pragma once

// What is not there at the end of a run, and why, in a line for who watches it.

#include <string>

#include "runtime/analysis/index.h"

namespace expc::engine {

/// How many trials did not end well, and where what: "18 of 33 trials failed: n=3 in 9 blocks (exit code 1)"; "" if
/// nothing lacks trials.
std::string shortfallText(const analysis::Index& index);

/// "every criterion is decided at the look after 8 of 20 timed repetitions"; "" where none ended so.
std::string endedAtLookText(const analysis::Index& index);

/// "timed n=3: no licence server".
std::string failureText(const analysis::Index& index, const analysis::Failure& failure);

}  // namespace expc::engine
