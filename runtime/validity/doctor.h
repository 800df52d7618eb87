#pragma once

// What on this machine would spoil a measurement, and how it is mended. Nothing is changed.

#include <string>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/validity/host.h"

namespace expc::validity {

struct Finding {
  enum class Weight {
    Fine,   // looked at, and good
    Note,   // it can matter, and may be meant so
    Spoils  // it makes times differ that should not
  } weight = Weight::Fine;
  std::string subject;    // one word: "governor"
  std::string what;       // what was found
  std::string why = {};   // why it matters; "" where it is fine
  std::string mend = {};  // a command, or what to do; "" where it is fine or nothing can be done
};

/// Of clocks, cores, memory and whoever else is there. Takes half a second, in which the machine is watched.
std::vector<Finding> examineHost(const machine::Machine& machine, const std::string& root = "");

/// Of the cards of `machine`, which nothing of ours uses now.
std::vector<Finding> examineCards(const machine::Machine& machine, const Cards& cards);

/// Of the folder that will hold the results, which need not exist: whether it can be written and leased.
std::vector<Finding> examineFolder(const std::string& folder);

}  // namespace expc::validity
