#pragma once

#include <llvm/Support/Error.h>

#include <optional>
#include <string>

#include "compiler/driver/commands.h"
#include "compiler/driver/console.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"
#include "runtime/store/store.h"

namespace expc::driver {

/// The results in a folder, to be read; `console` is told what there is to say of them, if it is given.
llvm::Expected<store::Store> openStore(const std::string& folder, const Console* console = nullptr);

/// Judges what is stored for `plan`, prints it and writes the report page. Returns the exit code of the verdicts, or
/// kError after saying why. `null_cards`: of what ran on null cards, or on others; absent: see Store::load.
int showVerdicts(const plan::Plan& plan, const ReportOptions& options, std::optional<bool> null_cards,
                 const Console& console);

/// What rehearsals of the study saw; nothing after saying that their file cannot be read.
std::optional<rehearsal::Study> rehearsedOf(const plan::Plan& plan, const std::string& results, const Console& console);

/// What is stored for `plan`, of the newest worker that ran it; nothing where the folder holds no results. The error
/// says why it cannot be read.
llvm::Expected<store::Results> storedOf(const plan::Plan& plan, const std::string& results_folder, bool null_cards);

/// Prints what the plan's design can be expected to find, from what is stored in `results`; kSuccess, or kError after
/// saying why not.
int showDiagnosis(const plan::Plan& plan, const std::string& results, bool null_cards, Format format,
                  const simulate::Assumptions& assumptions, const simulate::DiagnosisOptions& how,
                  const Console& console);

/// Of several studies the worst decides: 130, 1, 3, 4, 5, 0.
int worse(int first, int second);

}  // namespace expc::driver
