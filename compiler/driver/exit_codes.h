#pragma once

namespace expc::driver {

/// What the process answers (documented in docs/command-line.md; verdict codes come from analysis::exitCode, and
/// `rehearse` has kSomeFail for a point that fails or unexpectedly does not fit).
enum ExitCode : int {
  kSuccess = 0,
  kError = 1,
  kUsage = 2,
  kSomeFail = 3,
  kSomeUndecided = 4,
  kNothingRan = 5,
  kBroken = 6,
  kInterrupted = 130,
};

}  // namespace expc::driver
