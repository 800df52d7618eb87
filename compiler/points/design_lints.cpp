// Lints of a selected study's design: claims that it can never decide, looks that decide nothing, and budgets
// that cannot be kept; also points that mean the same. Survey and space come in; only diagnostics go out. The
// numbers of repetitions come from runtime/stats, which the analysis uses too, so that a lint and a verdict
// cannot disagree.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "compiler/points/lints.h"
#include "runtime/base/entry.h"
#include "runtime/base/text.h"
#include "runtime/stats/design.h"
#include "runtime/stats/looks.h"
#include "runtime/stats/nested_intervals.h"

namespace expc::points {
namespace {

EXPC_DIAGNOSTIC(
    CannotPass,
    "the criterion '{0}' can never pass, whatever is measured: it needs {1} repetitions, the design has {2}");
EXPC_DIAGNOSTIC(
    CannotFail,
    "the criterion '{0}' can pass or stay undecided, but never fail: a fail needs {1} repetitions, the design has {2}");
EXPC_DIAGNOSTIC(UntilNeverHolds,
                "'until' can never stop these repetitions: an interval needs {0} of them, the design has at most {1}");
EXPC_DIAGNOSTIC(LookDecidesNothing,
                "the look after {0} repetitions is too early: the criterion '{1}' needs {2} to be decided");
EXPC_DIAGNOSTIC(BudgetTooSmall, "a budget of {0}s is too short for {1} trials: each needs at least 1 ms to start");
EXPC_DIAGNOSTIC(SamePoint, "two points of the study '{0}' are duplicates: they run exactly the same");

/// Starting a process takes longer than this on any machine, whatever the trial then does.
constexpr double kLeastSeconds = 0.001;
/// Limit on points that are compared for equal meaning, 8 bytes each.
constexpr size_t kMostIds = 2'000'000;

/// The largest number of repetitions that `repeat 10..20` allows.
unsigned mostRepetitions(const check::Setting& repeat) {
  return unsigned(repeat.most.value_or(repeat.value).numerator());
}

/// The confidence of the intervals at the look after `looks[last]` repetitions out of `of`. Past the last look
/// it is that of the final analysis, so that all analyses together keep `confidence` (alpha spending).
double confidenceAt(const std::vector<check::Look>& looks, size_t last, unsigned of, double confidence) {
  std::vector<stats::LookAt> planned;
  for (size_t i = 0; i <= last; ++i) {
    const double fraction = i < looks.size() ? double(looks[i].repetitions) / of : 1;
    planned.push_back({fraction, stats::plannedShare(fraction)});
  }
  return 1 - stats::LookLevels(planned).nominal(1 - confidence);
}

/// The kind of trials that all assertions of a criterion read; nothing if they read several, or exact metrics, which
/// need no interval.
std::optional<check::TrialKind> kindOf(const check::Study& study, const check::Criterion& criterion) {
  std::optional<check::TrialKind> kind;
  for (const check::Assertion& assertion : criterion.assertions) {
    if (assertion.seen()) continue;
    const check::Metric& metric = study.metrics[*assertion.metric];
    if (metric.exact || (kind && *kind != metric.kind)) return std::nullopt;
    kind = metric.kind;
  }
  return kind;
}

/// Whether two points of a study could mean the same at all; the search over the points is skipped otherwise.
bool canCoincide(const check::Study& study) {
  for (size_t i = 0; i < study.uses.size(); ++i)
    for (size_t j = i + 1; j < study.uses.size(); ++j) {
      const check::Workload &a = *study.uses[i].workload, &b = *study.uses[j].workload;
      const bool commands = a.command && b.command;
      if (&a == &b || (commands && argumentsJson(a.command->written) == argumentsJson(b.command->written))) return true;
    }
  return std::ranges::any_of(study.factors, [&](const check::Factor& factor) {
    return factor.lockstep() && std::ranges::any_of(factor.parameters, [&](unsigned parameter) {
             return study.parameter(parameter).when != nullptr;
           });
  });
}

}  // namespace

/// Reports looks at which a criterion cannot be decided. A look ends the trials only if it decides every
/// criterion, so one that cannot decide some criterion is useless.
void Lints::looks(const check::Design::Kind& kind, const check::Criterion& criterion, const Survey::OfCriterion& counts,
                  unsigned of) const {
  for (const auto& [i, look] : llvm::enumerate(kind.looks)) {
    const double confidence = confidenceAt(kind.looks, i, of, *criterion.confidence);
    const unsigned needed = std::min(counts.repetitionsToPass(confidence), counts.repetitionsToFail(confidence));
    if (needed <= look.repetitions || !reported.fresh(diag::Kind::LookDecidesNothing, nullptr, look.range)) continue;
    emitter.emit(look.range, LookDecidesNothing, look.repetitions, criterion.name, needed)
        .note(criterion.range, "this look uses {:.4g}% intervals, so that all looks together keep {:.4g}%",
              confidence * 100, *criterion.confidence * 100);
  }
}

/// Reports a criterion that can never pass or never fail with the design's repetitions.
void Lints::repetitions(const check::Criterion& criterion, const Survey::OfCriterion& counts) const {
  const uint64_t cells = counts.asked();
  if (!criterion.confidence || cells == 0) return;
  const auto read = kindOf(study, criterion);
  const check::Design::Kind* kind = read ? entryOf(selected.design.kinds, *read) : nullptr;
  const check::Setting* repeat = kind ? entryOf(kind->settings, "repeat") : nullptr;
  if (!repeat) return;
  unsigned have = mostRepetitions(*repeat);
  const std::vector<check::Look>& looks = kind->looks;
  // Looks and adaptive repetitions both raise the confidence that each interval needs.
  const double looked = confidenceAt(looks, looks.size(), have, *criterion.confidence);
  const double confidence = kind->until.empty() ? looked : stats::confidenceUnderWidthStop(looked);
  unsigned pass = counts.repetitionsToPass(confidence);
  unsigned fail = counts.repetitionsToFail(confidence);
  this->looks(*kind, criterion, counts, have);
  auto fresh = [&](diag::Kind what) { return reported.fresh(what, &criterion, repeat->range); };
  auto finish = [&](diag::Builder builder, unsigned needed) {
    builder.note(repeat->range, "for {} {} at {:.4g}% confidence{}{}, write 'repeat {}'", cells,
                 cells == 1 ? "configuration" : "configurations", confidence * 100,
                 !looks.empty()        ? " after the looks before"
                 : kind->until.empty() ? ""
                                       : " with adaptive repetitions",
                 base::framed(" with ", selection), needed);
  };
  // Never passing is an error. Never failing is a warning, and only mentioned if it can pass.
  if (have < pass && fresh(diag::Kind::CannotPass))
    finish(emitter.emit(criterion.range, CannotPass, criterion.name, pass, have), pass);
  if (have < fail && have >= pass && fresh(diag::Kind::CannotFail))
    finish(emitter.emit(criterion.range, CannotFail, criterion.name, fail, have), fail);
}

/// Reports `until` rules whose interval needs more repetitions than the design allows.
void Lints::until() const {
  for (const auto& [kind, block] : selected.design.kinds) {
    const check::Setting* repeat = entryOf(block.settings, "repeat");
    if (block.until.empty() || !repeat) continue;
    unsigned have = mostRepetitions(*repeat), needed = stats::minimumPairs(stats::confidenceUnderWidthStop(0.95));
    if (have >= needed || !reported.fresh(diag::Kind::UntilNeverHolds, nullptr, repeat->range)) continue;
    emitter.emit(block.until[0].range, UntilNeverHolds, needed, have)
        .note(repeat->range, "half-widths are those of 95% intervals: end the range at {} or above", needed);
  }
}

/// Reports a budget that the trials exceed even if each only started a process.
void Lints::budget() const {
  const check::Setting* budget = entryOf(selected.design.settings, "budget");
  if (!budget) return;
  uint64_t trials = 0;
  for (const auto& [kind, block] : selected.design.kinds)
    if (const auto* repeat = entryOf(block.settings, "repeat"))
      trials += survey.points * uint64_t(repeat->value.numerator());
  if (budget->value.toDouble() >= double(trials) * kLeastSeconds) return;
  if (!reported.fresh(diag::Kind::BudgetTooSmall, nullptr, budget->range)) return;
  auto builder = emitter.emit(budget->range, BudgetTooSmall, budget->value.toString(), trials);
  builder.note("{} points{}", survey.points, base::framed(" with ", selection));
}

void Lints::design() const {
  for (size_t i = 0; i < survey.criteria.size(); ++i) repetitions(*selected.criteria[i], survey.criteria[i]);
  until();
  budget();
}

void Lints::samePoints() const {
  if (!canCoincide(study)) return;
  PointWriter writer(space);
  // Sort the ids and look for neighbours that are equal. The first pair is shown, the others are counted.
  std::vector<uint64_t> ids;
  space.forEach([&](Levels point) {
    ids.push_back(writer.hash(point));
    return ids.size() < kMostIds;
  });
  std::ranges::sort(ids);
  auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice == ids.end()) return;
  uint64_t count = 0;
  for (size_t i = 1; i < ids.size(); ++i) count += ids[i] == ids[i - 1];
  auto builder = emitter.emit(study.range, SamePoint, study.name);
  bool first = true;
  space.forEach([&](Levels point) {
    if (writer.hash(point) != *twice) return true;
    builder.note("{} {}", first ? "the point at" : "and the one at", expand::labelOf(study, point));
    first = false;
    return true;
  });
  if (count > 1) builder.note("{} points are duplicates", count);
  builder.note("remove the duplicates: each point is measured once");
}

}  // namespace expc::points
