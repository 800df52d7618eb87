#include "compiler/lower/lints.h"

namespace expc::lower {
namespace {

EXPC_DIAGNOSTIC(NoPartner, Error, "the comparison '{0}' has no pair of points", std::string_view);
EXPC_DIAGNOSTIC(SomeWithoutPartner, Warning, "{0} of {1} points of the comparison '{2}' have no partner", uint64_t,
                uint64_t, std::string_view);
EXPC_DIAGNOSTIC(EmptyCriterion, Error, "the criterion '{0}' asks about no point", std::string_view);
EXPC_DIAGNOSTIC(CannotPass, Error, "the criterion '{0}' can never pass: it needs {1} repetitions, the design has {2}",
                std::string_view, unsigned, unsigned);
EXPC_DIAGNOSTIC(CannotFail, Warning,
                "the criterion '{0}' can never fail: that takes {1} repetitions, the design has {2}", std::string_view,
                unsigned, unsigned);

}  // namespace

void lintPairs(const check::Selected& whole, const expand::Grid& grid, const source::SourceManager& sources,
               diag::Emitter& emitter) {
  const check::Study& study = *whole.study;
  PointIndex index(grid);
  std::vector<Pairing> pairings;
  for (const check::Comparison& comparison : study.comparisons) {
    Pairing pairing = pairUp(whole, grid, index, comparison, sources);
    if (pairing.pairs == 0) {
      auto builder = emitter.build(comparison.range, NoPartner, comparison.name);
      if (!pairing.why.empty()) builder.note({}, "{}", pairing.why);
      if (pairing.without == 0)
        builder.note(study.factors[comparison.over].range, "every point is at the level that it compares with");
      builder.emit();
    } else if (pairing.without > 0) {
      emitter
          .build(comparison.range, SomeWithoutPartner, pairing.without, pairing.without + pairing.pairs,
                 comparison.name)
          .note({}, "{}", pairing.why)
          .emit();
    }
    pairings.push_back(std::move(pairing));
  }
  for (const check::Criterion& criterion : study.criteria) {
    const Pairing* pairing = criterion.comparison ? &pairings[*criterion.comparison] : nullptr;
    if (pairing && pairing->pairs == 0) continue;
    auto cells = claimCells(whole, grid, criterion, pairing, {}, emitter);
    if (cells && cells->points.empty())
      emitter.build(criterion.range, EmptyCriterion, criterion.name)
          .note({}, "no point has the levels that it selects and satisfies its 'where'")
          .emit();
  }
}

void lintRepetitions(const check::Selected& selected, const expand::Grid& grid, const source::SourceManager& sources,
                     const std::string& selection, std::set<std::pair<diag::Kind, const check::Criterion*>>& reported,
                     diag::Emitter& emitter) {
  const check::Study& study = *selected.study;
  PointIndex index(grid);
  for (const check::Criterion* criterion : selected.criteria) {
    const check::Metric& metric = study.workload->metrics[criterion->metric];
    auto kind = selected.design.kinds.find(metric.kind);
    if (!criterion->confidence || metric.exact || kind == selected.design.kinds.end()) continue;
    auto repeat = kind->second.settings.find("repeat");
    if (repeat == kind->second.settings.end()) continue;
    std::optional<Pairing> pairing;
    if (criterion->comparison)
      pairing = pairUp(selected, grid, index, study.comparisons[*criterion->comparison], sources);
    auto cells = claimCells(selected, grid, *criterion, pairing ? &*pairing : nullptr, {}, emitter);
    if (!cells || cells->points.empty()) continue;
    unsigned have = static_cast<unsigned>(repeat->second.value.numerator());
    unsigned pass = repetitionsToPass(cells->claim, *criterion->confidence, !criterion->comparison);
    unsigned fail = repetitionsToFail(cells->claim, *criterion->confidence, !criterion->comparison);
    auto finish = [&](diag::Builder builder, unsigned needed) {
      size_t count = cells->points.size();
      builder.note(repeat->second.range, "{} {} at {:.4g}% confidence{}: write 'repeat {}'", count,
                   count == 1 ? "cell" : "cells", *criterion->confidence * 100,
                   selection.empty() ? "" : " with " + selection, needed);
      builder.emit();
    };
    if (have < pass && reported.emplace(diag::Kind::CannotPass, criterion).second)
      finish(emitter.build(criterion->range, CannotPass, criterion->name, pass, have), pass);
    if (have < fail && have >= pass && reported.emplace(diag::Kind::CannotFail, criterion).second)
      finish(emitter.build(criterion->range, CannotFail, criterion->name, fail, have), fail);
  }
}

}  // namespace expc::lower
