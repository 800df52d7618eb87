#include <fmt/format.h>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/systems.h"
#include "compiler/driver/verdicts.h"
#include "runtime/engine/extract.h"
#include "runtime/report/layout.h"

namespace expc::driver {
namespace {

std::string trials(unsigned number) { return report::counted(number, "trial"); }

int extractOne(const plan::Plan& plan, const MeasuredOptions& options, const Console& console) {
  auto resources = resourcesOf(options.machine, "");
  if (!resources) return console.error(resources.takeError());
  auto outcome = engine::extract(plan, options.results, resources->command_worker);
  if (!outcome) return console.error(outcome.takeError());
  for (const std::string& message : outcome->messages) console.message(message);
  for (const auto& [why, number] : outcome->refused)
    console.message(fmt::format("{} could not be read again: {}", trials(number), why));
  std::string text =
      fmt::format("study {}: {} read again, {} as before", plan.study, trials(outcome->read), outcome->as_before);
  if (outcome->not_kept > 0) text += fmt::format("; the output of {} is not kept", trials(outcome->not_kept));
  if (!console.print(text + "\n")) return kError;
  return outcome->refused.empty() && outcome->not_kept == 0 ? kSuccess : kSomeUndecided;
}

}  // namespace

int extract(const MeasuredOptions& options, const Console& console) {
  const auto plans = loadMeasured(options, console);
  if (!plans) return plans.code;
  int code = kSuccess;
  for (const ChosenPlan& one : *plans) code = worse(code, extractOne(one.plan, options, console));
  return code;
}

}  // namespace expc::driver
