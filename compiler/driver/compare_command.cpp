#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/sides.h"
#include "compiler/driver/verdicts.h"
#include "runtime/analysis/index.h"
#include "runtime/analysis/meaning.h"
#include "runtime/analysis/sides.h"
#include "runtime/export/sides.h"
#include "runtime/plan/json.h"

namespace expc::driver {
namespace {

/// One study on both sides; its exit code.
int compareStudy(const plan::Plan& plan, Side& before, Side& after, const CompareOptions& options,
                 const Console& console) {
  const auto one = before.of(plan, console), other = after.of(plan, console);
  if (!one || !other) return kNothingRan;
  const analysis::Sides sides =
      analysis::compareSides(analysis::Index(plan, one->results), analysis::Index(plan, other->results));
  const exports::SidesView view{plan,
                                {before.name(), one->results, one->judgement},
                                {after.name(), other->results, other->judgement},
                                sides,
                                options.margin / 100};
  std::string text;
  switch (options.format) {
    case CompareFormat::Text:
      text = exports::sidesText(view, console.width(), console.colourOut());
      break;
    case CompareFormat::Markdown:
      text = exports::sidesMarkdown(view);
      break;
    case CompareFormat::Json:
      text = plan::prettyJson(exports::sidesJson(view)) + "\n";
      break;
  }
  if (!console.print(text)) return kError;
  return analysis::meaningOf(exports::outcomeOf(view)).exit_code;
}

}  // namespace

int compare(const CompareOptions& options, const Console& console) {
  int code = kSuccess;
  auto before = Side::open(options.before, console, code);
  if (!before) return code;
  auto after = Side::open(options.after, console, code);
  if (!after) return code;
  const auto plans =
      loadMeasured(options.study, options.machine, llvm::StringRef(options.after).split(',').first.str(), console);
  if (!plans) return plans.code;
  for (const ChosenPlan& one : *plans) code = worse(code, compareStudy(one.plan, *before, *after, options, console));
  return code;
}

}  // namespace expc::driver
