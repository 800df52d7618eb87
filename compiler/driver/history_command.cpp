#include <fmt/format.h>

#include <algorithm>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "runtime/analysis/course.h"
#include "runtime/export/course.h"
#include "runtime/plan/json.h"
#include "runtime/store/history.h"

namespace expc::driver {

int history(const HistoryOptions& options, const Console& console) {
  const auto plans = loadMeasured(options.study, options.machine, options.results, console);
  if (!plans) return plans.code;
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(options.results, messages);
  if (!store) return console.error(store.takeError());
  for (const std::string& message : messages) console.message(message);
  int code = kSuccess;
  for (const ChosenPlan& one : *plans) {
    if (!options.metric.empty() && !one.plan.findMetric(options.metric))
      return console.error(fmt::format("study {} measures no '{}'", one.plan.study, options.metric));
    const auto courses = analysis::courses(one.plan, store::history(*store, one.plan), options.metric);
    const bool printed = console.print(
        options.json ? plan::prettyJson(exports::courseJson(one.plan, courses)) + "\n"
                     : exports::courseText(one.plan, courses, options.all, console.width(), console.colourOut()));
    if (!printed) return kError;
    if (std::ranges::any_of(courses, [](const analysis::Course& course) { return !course.lost.empty(); }))
      code = kBroken;
  }
  return code;
}

}  // namespace expc::driver
