#pragma once

// Finds what on this machine would spoil a measurement, and says how to mend it; for `expc doctor`. It only reads and
// watches, and changes nothing but a temporary file in the results folder.

#include <string>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/validity/host.h"

namespace expc::validity {

/// A property of the machine, good or bad, for people.
struct Finding {
  enum class Weight {
    Fine,   // looked at, and good
    Note,   // it can matter, and may be intended
    Spoils  // it makes times differ that should not
  } weight = Weight::Fine;
  std::string subject;    // one word: "governor"
  std::string what;       // what was found
  std::string why = {};   // why it matters; "" where it is fine
  std::string mend = {};  // a command, or what to do; "" where it is fine or nothing can be done
};

/// Examines clocks, cores, memory, limits and other users of the machine. Blocks for half a second, in which it watches
/// the machine. `root` is put before /proc and /sys, for tests.
std::vector<Finding> examineHost(const Machine& machine, const std::string& root = "");

/// Examines the GPUs of `machine`. No process of ours may use them at that moment.
std::vector<Finding> examineCards(const Machine& machine, const Cards& cards);

/// Examines the folder that will hold the results, which need not exist: whether it can be written and leased.
std::vector<Finding> examineFolder(const std::string& folder);

}  // namespace expc::validity
