#include "runtime/analysis/looks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/analysis/controls.h"
#include "runtime/analysis/criteria.h"
#include "runtime/analysis/needs.h"

namespace expc::analysis {
namespace {

plan::TrialKind kindOf(const plan::Criterion& criterion) { return criterion.cells.front().kind; }

const plan::KindDesign* designOf(const plan::Plan& plan, plan::TrialKind kind) {
  const auto design = std::find_if(plan.design.kinds.begin(), plan.design.kinds.end(),
                                   [&](const plan::KindDesign& one) { return one.kind == kind; });
  return design == plan.design.kinds.end() ? nullptr : &*design;
}

/// Whether intervals of this kind's trials decide it.
bool isLookedAt(const plan::Criterion& criterion, plan::TrialKind kind) {
  return criterion.confidence && !criterion.infeasible && !criterion.not_asked && !criterion.cells.empty() &&
         kindOf(criterion) == kind;
}

bool isDecided(const CriterionResult& result) {
  return result.verdict == Verdict::Pass || result.verdict == Verdict::Fail || result.verdict == Verdict::Infeasible;
}

/// Nothing here asks for further trials.
bool allDecided(const Index& index, plan::TrialKind kind) {
  const Evidence evidence{index, {}};
  Judgement judgement;
  for (const plan::Criterion& criterion : index.plan().criteria)
    judgement.criteria.push_back(judgeCriterion(evidence, criterion));
  judgeControls(evidence, judgement);
  return lookDecides(index.plan(), kind, judgement.criteria);
}

}  // namespace

bool lookDecides(const plan::Plan& plan, plan::TrialKind kind, const std::vector<CriterionResult>& results) {
  bool any = false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!isLookedAt(plan.criteria[i], kind)) continue;
    if (!isDecided(results[i]) || !results[i].untrusted.empty()) return false;
    any = true;
  }
  return any;
}

Standing standingOf(const Evidence& evidence, const plan::Criterion& criterion,
                    const std::vector<MeasuredCell>& cells) {
  Standing standing;
  const plan::KindDesign* design = designOf(evidence.index.plan(), kindOf(criterion));
  unsigned tried = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Scope& scope = cells[i].estimate.scope;
    if (i > 0 && scope.complete >= standing.look.now) continue;
    standing.look.now = scope.complete;
    tried = scope.complete + scope.lost;
  }
  const unsigned now = standing.look.now;
  const bool early = design && !design->looks.empty() && tried < design->repeat;
  standing.look.of = early ? std::max(now, design->repeat) : now;
  standing.look.confidence = criterion.confidence.value_or(kConfidence);
  std::set<unsigned> before;
  if (design) before.insert(design->looks.begin(), design->looks.end());
  for (const unsigned repetitions : evidence.index.looksAt(criterion.name, kindOf(criterion)))
    before.insert(repetitions);
  for (const unsigned repetitions : before)
    if (repetitions < now) standing.look.before.push_back(repetitions);
  if (now == 0 || standing.only()) return standing;
  std::vector<double> fractions;
  for (const unsigned repetitions : standing.look.before) fractions.push_back(double(repetitions) / standing.look.of);
  fractions.push_back(double(now) / standing.look.of);
  standing.levels = stats::LookLevels(fractions);
  standing.look.confidence = 1 - standing.levels.nominal(1 - standing.look.confidence);
  return standing;
}

unsigned repetitionsAsked(const Index& index, const plan::KindDesign& design) {
  for (const unsigned look : design.looks) {
    if (lacksRepetitions(index, design, look)) return look;
    const bool passed = fewestRepetitions(index, design.kind) > look;
    if (!passed && index.decided(design.kind, [&] { return allDecided(index, design.kind); })) return look;
  }
  return design.repeat;
}

const plan::KindDesign* endedAtLook(const Index& index) {
  for (const plan::KindDesign& design : index.plan().design.kinds)
    if (repetitionsAsked(index, design) < design.repeat && nextBlock(index, design.kind).empty()) return &design;
  return nullptr;
}

std::string endedAtLookText(const Index& index) {
  const plan::KindDesign* design = endedAtLook(index);
  if (!design) return "";
  return fmt::format("every criterion is decided at the look after {} of {} {} repetitions",
                     repetitionsAsked(index, *design), design->repeat, toString(design->kind));
}

}  // namespace expc::analysis
