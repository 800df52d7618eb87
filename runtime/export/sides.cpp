#include "runtime/export/sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "runtime/analysis/format.h"
#include "runtime/analysis/meaning.h"
#include "runtime/export/outcome.h"
#include "runtime/export/table.h"
#include "runtime/plan/find.h"
#include "runtime/report/layout.h"
#include "runtime/report/verdict_text.h"

namespace expc::exports {
namespace {

using analysis::Verdict;

std::string listed(const std::set<std::string>& texts) {
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

/// What the sessions and trials of a side say of one thing.
template <class Of>
std::set<std::string> ofTrials(const store::Results& results, Of of) {
  std::set<std::string> texts;
  for (const store::Trial& trial : results.trials) texts.insert(of(trial));
  texts.erase("");
  return texts;
}

std::set<std::string> hostsOf(const store::Results& results) {
  std::set<std::string> hosts;
  for (const store::Session& session : results.sessions) hosts.insert(session.where.machine());
  return hosts;
}

/// "2026-11-21", or the first and the last day.
std::string daysOf(const store::Results& results) {
  const std::set<std::string> days =
      ofTrials(results, [](const store::Trial& trial) { return timeText({trial.started}).substr(0, 10); });
  if (days.size() < 2) return listed(days);
  return *days.begin() + " to " + *days.rbegin();
}

}  // namespace

std::vector<VerdictPair> verdictPairs(const SidesView& view) {
  std::vector<VerdictPair> pairs;
  for (const plan::Criterion& criterion : view.plan.criteria) {
    const auto* before = plan::named(view.before.judgement.criteria, criterion.name);
    const auto* after = plan::named(view.after.judgement.criteria, criterion.name);
    if (!before || !after) continue;
    VerdictPair pair{
        criterion.name, criterion.text, report::markedVerdict(*before), report::markedVerdict(*after), false,
        false,          after->why};
    pair.changed = pair.before != pair.after;
    pair.lost = analysis::meaningOf(*before).answer == analysis::Answer::Holds &&
                analysis::meaningOf(*after).answer != analysis::Answer::Holds;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::vector<Difference> differences(const SidesView& view) {
  const store::Results &before = view.before.results, &after = view.after.results;
  std::vector<Difference> all;
  const auto add = [&](const char* what, const std::string& one, const std::string& other) {
    if (one != other) all.push_back({what, one, other});
  };
  const auto of = [&](const char* what, const std::function<std::string(const store::Trial&)>& text) {
    add(what, listed(ofTrials(before, text)), listed(ofTrials(after, text)));
  };
  add("machine", listed(hostsOf(before)), listed(hostsOf(after)));
  of("kind of machine", [](const store::Trial& trial) { return trial.key->environment_class; });
  of("worker", [](const store::Trial& trial) { return trial.key->worker_build; });
  of("program or data", [](const store::Trial& trial) { return trial.key->data.substr(0, 12); });
  add("days", daysOf(before), daysOf(after));
  return all;
}

std::vector<std::string> scopeOf(const SidesView& view) {
  const analysis::Scope &before = view.sides.before, &after = view.sides.after;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("before: {}, {}; after: {}, {}; no value of one side is paired with one of the other",
                              report::counted(before.sessions, "session"), report::counted(before.nodes, "node"),
                              report::counted(after.sessions, "session"), report::counted(after.nodes, "node")));
  if (view.sides.generalises())
    lines.push_back("how far sessions lie apart is in the intervals, so what moved holds of sessions like these");
  else
    lines.push_back(fmt::format(
        "so few sessions do not show how far sessions lie apart (the machine, its temperature, the day), so only what "
        "differs by more than {:.2f}x counts as moved. Further sessions show it (`expc run --fresh` after a restart); "
        "one study with both as levels of a factor compares them inside blocks",
        analysis::kSessionsApart));
  const auto differing = differences(view);
  if (differing.size() > 1) {
    std::vector<std::string> names;
    for (const Difference& one : differing) names.push_back(one.what);
    lines.push_back("the sides differ in " + report::joined(names) + ": what moved may come of any of these");
  }
  return lines;
}

namespace {

/// Whether all from `low` to `high` is a change by more than the margin.
bool isBeyond(const SidesView& view, const analysis::Shift& shift, double low, double high) {
  if (shift.ratio) return low > 1 + view.margin || high < 1 / (1 + view.margin);
  const bool share = shift.dimension == "share" || shift.dimension == analysis::kPoints;
  const double margin = share || !shift.before ? view.margin : view.margin * std::abs(*shift.before);
  return low > margin || high < -margin;
}

bool losesVerdict(const SidesView& view) {
  const auto pairs = verdictPairs(view);
  return std::any_of(pairs.begin(), pairs.end(), [](const VerdictPair& pair) { return pair.lost; });
}

bool anyShift(const SidesView& view, const std::function<bool(const analysis::Shift&)>& holds) {
  return std::any_of(view.sides.shifts.begin(), view.sides.shifts.end(), holds);
}

bool isWorse(const SidesView& view) {
  return anyShift(view, [&](const auto& shift) { return isRegression(view, shift); }) ||
         (losesVerdict(view) &&
          anyShift(view, [](const auto& shift) { return shift.moved && shift.worse.value_or(true); }));
}

bool isOpen(const SidesView& view) {
  return losesVerdict(view) || anyShift(view, [&](const auto& shift) { return isOpen(view, shift); });
}

}  // namespace

bool isRegression(const SidesView& view, const analysis::Shift& shift) {
  return shift.moved && shift.worse.value_or(false) && shift.interval &&
         isBeyond(view, shift, shift.interval->low, shift.interval->high);
}

std::vector<analysis::Missing> missingOf(const SidesView& view) {
  const analysis::Judgement &before = view.before.judgement, &after = view.after.judgement;
  std::vector<analysis::Missing> all = after.missing;
  const auto known = [&](const std::string& what) {
    return std::ranges::any_of(all, [&](const analysis::Missing& one) { return one.what == what; });
  };
  const auto ran_out = [](const analysis::PointStatus& status) {
    return status.infeasible >= analysis::kInfeasibleBlocks;
  };
  for (const analysis::Missing& one : before.missing)
    if (!known(one.what)) all.push_back({one.what, "it has no value before: " + one.why, Verdict::Inconclusive});
  for (const analysis::PointStatus& now : after.points) {
    const analysis::PointStatus* then = before.status(now.point, now.kind);
    const plan::Point* point = view.plan.findPoint(now.point);
    if (!then || !point || (now.lost == 0 || then->lost > 0) == (!ran_out(now) || ran_out(*then))) continue;
    std::string what = analysis::missingPoint(view.plan, now.kind, *point);
    if (known(what)) continue;
    all.push_back({std::move(what),
                   ran_out(now)
                       ? now.memory_reason
                       : fmt::format("it failed in {}: {}", report::counted(now.lost, "block"), now.last_reason),
                   Verdict::Broken});
  }
  return all;
}

bool isOpen(const SidesView& view, const analysis::Shift& shift) {
  if (!shift.tellable) return shift.directed;
  return shift.apart && shift.worse.value_or(false) && shift.estimate &&
         isBeyond(view, shift, *shift.estimate, *shift.estimate);
}

Verdict outcomeOf(const SidesView& view) {
  const auto missing = missingOf(view);
  if (std::ranges::any_of(missing, [](const auto& one) { return one.verdict == Verdict::Broken; }))
    return Verdict::Broken;
  if (isWorse(view)) return Verdict::Fail;
  const bool one_sided = view.sides.only_before + view.sides.only_after > 0;
  return missing.empty() && !one_sided && !isOpen(view) ? Verdict::Pass : Verdict::Inconclusive;
}

std::string changeText(const analysis::Shift& shift) {
  if (!shift.estimate) return "–";
  const std::string_view unit = shift.ratio ? "x" : std::string_view(shift.unit);
  const std::string_view dimension = shift.ratio                  ? ""
                                     : shift.dimension == "share" ? analysis::kPoints
                                                                  : std::string_view(shift.dimension);
  if (shift.constant) return analysis::formatQuantity(*shift.estimate, unit, dimension) + " constant";
  if (!shift.interval) return analysis::formatQuantity(*shift.estimate, unit, dimension);
  return analysis::formatEstimate(*shift.estimate, *shift.interval, unit, dimension);
}

}  // namespace expc::exports
