#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/verdicts.h"

namespace expc::driver {

int report(const ReportOptions& options, const Console& console) {
  const auto plans = loadMeasured(options, console);
  if (!plans) return plans.code;
  const bool picture = options.format != ReportFormat::Text && options.format != ReportFormat::Json;
  if (!picture && (!options.chart.empty() || !options.to.empty()))
    return console.error("--chart and --to are for a picture: say --format svg, png or pdf"), kUsage;
  if (picture && plans->size() > 1) return console.error("a picture is of one study: say which with --study"), kUsage;
  int code = kSuccess;
  const auto null_cards = options.machine.null_gpus.empty() ? std::nullopt : std::optional(true);
  for (const ChosenPlan& one : *plans) code = worse(code, showVerdicts(one.plan, options, null_cards, console));
  return code;
}

}  // namespace expc::driver
