#include "compiler/lower/lower.h"

#include <cassert>

#include "compiler/lower/plan_builder.h"
#include "compiler/survey/grid_lints.h"

namespace expc::lower {

std::optional<plan::Plan> planOf(Prepared& prepared, diag::Emitter& emitter) {
  if (prepared.survey().points > kMaxPlanPoints) {
    reportTooMany(prepared.study(), kMaxPlanPoints, false, emitter);
    return std::nullopt;
  }
  return PlanBuilder(prepared).build();
}

std::optional<plan::Plan> compile(const check::Program& program, const select::Selection& selection,
                                  const check::System* system, diag::Emitter& emitter) {
  std::vector<plan::Plan> plans = compileAll(program, selection, system, emitter);
  assert(plans.size() <= 1 && "name one of the studies");
  return plans.empty() ? std::nullopt : std::optional(std::move(plans[0]));
}

std::vector<plan::Plan> compileAll(const check::Program& program, const select::Selection& selection,
                                   const check::System* system, diag::Emitter& emitter) {
  std::vector<plan::Plan> plans;
  const size_t before = emitter.errors();
  for (const auto& prepared : Prepared::all(program, selection, system, emitter))
    if (auto plan = planOf(*prepared, emitter)) plans.push_back(std::move(*plan));
  if (emitter.errors() != before) plans.clear();
  return plans;
}

}  // namespace expc::lower
