#include "runtime/analysis/infeasible.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/analysis/claims.h"

namespace expc::analysis {
namespace {

std::string pointCount(size_t count) { return fmt::format("{} point{}", count, count == 1 ? "" : "s"); }

/// Of the block that is all there is: one trial shows that it can happen.
constexpr const char* kOneBlock = " (one trial, which shows that it can happen and not that it always does)";

struct PointFacts {
  Verdict verdict = Verdict::NotRun;
  bool one_block = false;  // a pass that rests on one block
  Why why;
};

PointFacts factsOf(const Evidence& evidence, const plan::Cell& cell) {
  const plan::Place& place = cell.points.front();
  const PlaceOutcomes& outcomes = evidence.index.of(cell.kind, place);
  const std::string label = placeLabel(evidence.index, place);
  PointFacts facts;
  const unsigned blocks = outcomes.infeasible;
  const bool wanted = evidence.wants(cell.kind, place);
  if (outcomes.outcomes.empty()) {
    facts.why = whyNotRun(evidence.index, place, " (an estimate is no evidence; --try-infeasible starts it)");
  } else if (outcomes.valid > 0) {
    facts.verdict = Verdict::Fail;
    std::string why = fmt::format("{} ran well in {} of {} blocks", label, outcomes.valid, outcomes.outcomes.size());
    if (blocks > 0)
      why += fmt::format(", out of memory in {}: it is unstable{}", blocks,
                         outcomes.memory_reason.empty() ? "" : " (" + outcomes.memory_reason + ")");
    facts.why = std::move(why);
  } else if (blocks >= kInfeasibleBlocks) {
    facts.verdict = Verdict::Pass;
    facts.why = fmt::format("{} ran out of memory in {} blocks", label, blocks);
  } else if (blocks > 0 && !wanted && outcomes.outcomes.size() == blocks) {
    facts.verdict = Verdict::Pass;
    facts.one_block = true;
    facts.why = label + " ran out of memory in its only block" + kOneBlock;
  } else {
    facts.verdict = blocks == 0 && outcomes.failed > 0 ? Verdict::Broken : Verdict::Inconclusive;
    facts.why =
        blocks > 0
            ? Why(fmt::format("{} ran out of memory in {} block, {} are needed", label, blocks, kInfeasibleBlocks))
            : Why(label + " did not run out of memory, nor did it run well", outcomes.last_reason);
  }
  return facts;
}

CellEstimate estimateOf(const Evidence& evidence, const plan::Cell& cell, size_t index, const PointFacts& facts) {
  const PlaceOutcomes& outcomes = evidence.index.of(cell.kind, cell.points.front());
  CellEstimate estimate;
  estimate.cell = static_cast<unsigned>(index);
  estimate.verdict = facts.verdict;
  estimate.why = facts.why.text;
  estimate.cause = facts.why.cause;
  estimate.scope.planned = kInfeasibleBlocks;
  estimate.scope.complete = outcomes.infeasible;
  std::set<int64_t> sessions;
  for (const Outcome& outcome : outcomes.outcomes) sessions.insert(outcome.session);
  estimate.scope.sessions = static_cast<unsigned>(sessions.size());
  estimate.scope.nodes = static_cast<unsigned>(evidence.index.nodes(cell, sessions).size());
  return estimate;
}

std::string whyOf(Verdict verdict, const plan::Criterion& criterion, const std::vector<PointFacts>& facts) {
  if (facts.size() == 1) return facts[0].why.text;
  const bool forall = criterion.claim.kind != plan::Claim::Kind::Exists;
  // The first cell with the verdict explains it.
  const auto explains =
      std::find_if(facts.begin(), facts.end(), [&](const PointFacts& entry) { return entry.verdict == verdict; });
  const auto count = static_cast<size_t>(
      std::count_if(facts.begin(), facts.end(), [&](const PointFacts& entry) { return entry.verdict == verdict; }));
  const std::string all = pointCount(facts.size());
  if (verdict == Verdict::Pass && forall) {
    const bool one_block = std::any_of(facts.begin(), facts.end(), [](const PointFacts& f) { return f.one_block; });
    return one_block ? "all " + all + " ran out of memory, some in their only block" + kOneBlock
                     : fmt::format("all {} ran out of memory in {} blocks or more", all, kInfeasibleBlocks);
  }
  if (explains == facts.end()) {
    const auto open = std::find_if(facts.begin(), facts.end(),
                                   [](const PointFacts& entry) { return entry.verdict != Verdict::Pass; });
    return open == facts.end() ? "" : open->why.text;
  }
  return fmt::format("{} of {}: {}", count, all, explains->why.text);
}

}  // namespace

std::set<std::string> claimedInfeasible(const plan::Plan& plan) {
  std::set<std::string> claimed;
  for (const plan::Criterion& criterion : plan.criteria)
    for (const plan::Cell& cell : criterion.cells)
      if (criterion.infeasible) claimed.insert(cell.points.front().point);
  return claimed;
}

void judgeInfeasible(const Evidence& evidence, const plan::Criterion& criterion, CriterionResult& result) {
  std::vector<PointFacts> facts;
  std::vector<Evidences> evidences;
  for (size_t i = 0; i < criterion.cells.size(); ++i) {
    facts.push_back(factsOf(evidence, criterion.cells[i]));
    const Verdict verdict = facts.back().verdict;
    evidences.push_back({verdict == Verdict::Pass ? 0.0 : 1.0, verdict == Verdict::Fail ? 0.0 : 1.0});
    result.cells.push_back(estimateOf(evidence, criterion.cells[i], i, facts.back()));
    const Scope& scope = result.cells.back().scope;
    if (i == 0 || scope.complete < result.scope.complete) result.scope = scope;
  }
  result.verdict = decide(criterion.claim, evidences, 1 - kConfidence).verdict;
  if (std::all_of(facts.begin(), facts.end(), [](const PointFacts& f) { return f.verdict == Verdict::NotRun; }))
    result.verdict = Verdict::NotRun;
  const bool broken = std::ranges::any_of(facts, [](const PointFacts& f) { return f.verdict == Verdict::Broken; });
  if (broken && result.verdict != Verdict::Fail) result.verdict = Verdict::Broken;
  result.why = whyOf(result.verdict, criterion, facts);
}

}  // namespace expc::analysis
