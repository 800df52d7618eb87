#include <fmt/format.h>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/estimate.h"
#include "compiler/driver/exit_codes.h"
#include "runtime/plan/json.h"
#include "runtime/report/plan_text.h"

namespace expc::driver {

int plan(const PlanOptions& options, const Console& console) {
  const std::optional<std::vector<plan::Plan>> plans = loadPlans(options.study, options.devices, console);
  if (!plans) return kError;
  if (options.format == PlanFormat::Json && plans->size() != 1) {
    console.error(fmt::format("{} holds {} studies and a plan is of one: choose it with --study NAME",
                              options.study.file, plans->size()));
    return kUsage;
  }
  for (const plan::Plan& plan : *plans) {
    std::string text;
    switch (options.format) {
      case PlanFormat::Json:
        text = plan::prettyJson(plan::toJson(plan)) + "\n";
        break;
      case PlanFormat::JsonLines:
        text = report::planJsonLines(plan);
        break;
      case PlanFormat::Text: {
        report::PlanExtras extras;
        extras.width = console.width();
        extras.colour = console.colourOut();
        extras.all_points = options.all_points;
        extras.seconds = estimateSeconds(plan, options.results);
        text = report::planText(plan, extras);
      }
    }
    if (!console.print(text)) {
      console.error("standard output took no more (closed pipe or full disk)");
      return kError;
    }
  }
  return kSuccess;
}

}  // namespace expc::driver
