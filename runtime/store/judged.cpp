// What the verdicts of a run are about, as the entry of its end says it.

#include <memory>
#include <utility>
#include <vector>

#include "runtime/plan/evaluate.h"
#include "runtime/plan/plan_words.h"
#include "runtime/store/entry_json.h"
#include "runtime/store/store.h"

namespace expc::store {

JudgedPtr judgedOf(const plan::Plan& plan) {
  Judged judged;
  for (const plan::KindDesign& design : plan.design.kinds) judged.planned[design.kind] = {design.repeat, design.looks};
  for (const plan::Criterion& criterion : plan.criteria) {
    if (!criterion.confidence || criterion.infeasible) continue;
    for (const plan::Cell& cell : criterion.cells) judged.subjects.insert(plan::subjectOf(plan, cell));
  }
  return std::make_shared<const Judged>(std::move(judged));
}

void describe(plan::JsonRecord& io, Judged& judged) {
  using Planned = std::pair<plan::TrialKind, Judged::Planned>;
  std::vector<Planned> kinds(judged.planned.begin(), judged.planned.end());
  io.list("planned", kinds, [](plan::JsonRecord& inner, Planned& kind) {
    inner.word("kind", kind.first, plan::words::kKind);
    inner.field("repeat", kind.second.repeat, 1);
    inner.field("looks", kind.second.looks);
  });
  if (io.reads()) judged.planned = {kinds.begin(), kinds.end()};
  io.field("subjects", judged.subjects);
}

}  // namespace expc::store
