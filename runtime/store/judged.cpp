// What the verdicts of a run are about, as the entry of its end says it.

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/evaluate.h"
#include "runtime/plan/json_record.h"
#include "runtime/plan/plan_words.h"
#include "runtime/store/store.h"

namespace expc::store {

std::string judgedText(const plan::Plan& plan) {
  Judged judged;
  for (const plan::KindDesign& design : plan.design.kinds) judged.planned[design.kind] = {design.repeat, design.looks};
  for (const plan::Criterion& criterion : plan.criteria) {
    if (!criterion.confidence || criterion.infeasible) continue;
    for (const plan::Cell& cell : criterion.cells) judged.subjects.insert(plan::subjectOf(plan, cell));
  }
  return plan::canonicalJson(toJson(judged));
}

namespace {

using Planned = std::pair<plan::TrialKind, Judged::Planned>;

void describeJudged(plan::JsonRecord& io, Judged& judged) {
  std::vector<Planned> kinds(judged.planned.begin(), judged.planned.end());
  std::vector<std::string> subjects(judged.subjects.begin(), judged.subjects.end());
  io.list("planned", kinds, [](plan::JsonRecord& inner, Planned& kind) {
    inner.word("kind", kind.first, plan::words::kKind);
    inner.field("repeat", kind.second.repeat, 1);
    inner.field("looks", kind.second.looks);
  });
  io.field("subjects", subjects);
  if (!io.reads()) return;
  judged.planned = {kinds.begin(), kinds.end()};
  judged.subjects = {subjects.begin(), subjects.end()};
}

}  // namespace

llvm::json::Value toJson(const Judged& judged) { return plan::JsonRecord::written(judged, describeJudged); }

llvm::Expected<Judged> judgedFromJson(const llvm::json::Value& value) {
  return plan::readRecord<Judged>(value, "what a run judged", describeJudged);
}

}  // namespace expc::store
