#include "compiler/lower/lower.h"

#include <cassert>

#include "compiler/lower/plan_builder.h"
#include "compiler/lower/prepared.h"

namespace expc::lower {
namespace {

std::optional<plan::Plan> compileStudy(const check::Program& program, const check::Study& study,
                                       const Selection& selection, const check::System* system,
                                       diag::Emitter& emitter) {
  auto prepared = Prepared::of(program, study, selection, system, emitter);
  return prepared ? planOf(*prepared, emitter) : std::nullopt;
}

}  // namespace

std::optional<plan::Plan> planOf(Prepared& prepared, diag::Emitter& emitter) {
  if (prepared.survey().points > kMaxPlanPoints) {
    expand::reportTooMany(prepared.study(), kMaxPlanPoints, false, emitter);
    return std::nullopt;
  }
  return PlanBuilder(prepared).build();
}

bool verify(const check::Program& program, const Selection& selection, diag::Emitter& emitter,
            const check::System* system) {
  size_t before = emitter.errors();
  // After a syntax error there is nothing to look at, and that was said.
  if (program.scopes.empty() || (before > 0 && program.studies.empty())) return false;
  bool library = program.studies.empty() && !selection.study && check::declaresAnything(program);
  if (library) return true;
  for (const check::Study* study : chosenStudies(program, selection, emitter))
    verifyStudy(program, *study, selection, system, emitter);
  return emitter.errors() == before;
}

std::optional<plan::Plan> compile(const check::Program& program, const Selection& selection,
                                  const check::System* system, diag::Emitter& emitter) {
  std::vector<const check::Study*> studies = chosenStudies(program, selection, emitter);
  assert(studies.size() <= 1 && "name one of the studies");
  if (studies.empty()) return std::nullopt;
  return compileStudy(program, *studies[0], selection, system, emitter);
}

std::vector<plan::Plan> compileAll(const check::Program& program, const Selection& selection,
                                   const check::System* system, diag::Emitter& emitter) {
  std::vector<plan::Plan> plans;
  size_t before = emitter.errors();
  for (const check::Study* study : chosenStudies(program, selection, emitter))
    if (auto plan = compileStudy(program, *study, selection, system, emitter)) plans.push_back(std::move(*plan));
  if (emitter.errors() != before) plans.clear();
  return plans;
}

}  // namespace expc::lower
