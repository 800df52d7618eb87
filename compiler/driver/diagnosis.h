#pragma once

#include <llvm/Support/Error.h>

#include <string>

#include "compiler/driver/console.h"
#include "runtime/plan/plan.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"

namespace expc::driver {

/// What is stored for `plan`, of the newest worker that ran it; nothing where the folder holds no results. The error
/// says why it cannot be read.
llvm::Expected<store::Results> storedOf(const plan::Plan& plan, const std::string& results_folder, bool null_cards);

/// What a diagnosis starts from and how it is printed.
struct DiagnosisRequest {
  std::string results;
  bool null_cards = false, json = false;
  simulate::Assumptions assumptions;
  simulate::DiagnosisOptions how;
};

/// Prints what the plan's design can be expected to find; kSuccess, or kError after saying why not.
int showDiagnosis(const plan::Plan& plan, const DiagnosisRequest& request, const Console& console);

}  // namespace expc::driver
