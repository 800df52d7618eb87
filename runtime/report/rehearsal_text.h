#pragma once

#include <cstddef>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"

namespace expc::report {

struct RehearsalTextOptions {
  unsigned width = 100;
  bool colour = false;
  size_t most_points = SIZE_MAX;  // in a table; of the others there is a line
  bool steps = true;              // also what a step does
  std::string logs;               // folder of what ranks printed, named where a point failed; "": not named
};

/// What is known of the plan's points for a reader: a row for each, reasons once each, and how peaks and estimates
/// compare; "" where nothing is.
std::string rehearsalText(const plan::Plan& plan, const rehearsal::Study& study, const RehearsalTextOptions& options);

}  // namespace expc::report
