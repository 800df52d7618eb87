#pragma once

#include <optional>
#include <string>

#include "compiler/driver/console.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"

namespace expc::driver {

struct VerdictOptions {
  std::string results;
  std::string html;  // "": STUDY.html in the results folder
  bool json = false;
  std::optional<bool> null_cards = std::nullopt;  // what ran on null cards, or on others; absent: see Store::load
};

/// Judges what is stored for `plan`, prints it and writes the report page. Returns the exit code of the verdicts, or
/// kError after saying why.
int showVerdicts(const plan::Plan& plan, const VerdictOptions& options, const Console& console);

/// What rehearsals of the study saw; nothing after saying that their file cannot be read.
std::optional<rehearsal::Study> rehearsedOf(const plan::Plan& plan, const std::string& results, const Console& console);

/// Of several studies the worst decides: 130, 1, 3, 4, 5, 0.
int worse(int first, int second);

}  // namespace expc::driver
