#include "runtime/report/cell_choice.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/report/verdict_text.h"

namespace expc::report {

/// Names the value that is closest to breaking a bound, or, with `breaks`, the one that breaks it most: "lowest".
static std::string_view extreme(const plan::Bound& bound, bool breaks) {
  using plan::Relation;
  static constexpr base::Word<Relation> kExtremes[] = {
      {"lowest", Relation::GreaterEqual}, {"lowest", Relation::Greater}, {"highest", Relation::LessEqual},
      {"highest", Relation::Less},        {"farthest", Relation::Equal}, {"closest to a limit:", Relation::Within}};
  return breaks && bound.relation == Relation::Within ? "farthest"
                                                      : std::string_view(base::wordOf(kExtremes, bound.relation));
}

static std::vector<size_t> unionOf(const std::vector<std::vector<size_t>>& parts) {
  std::set<size_t> all;
  for (const auto& part : parts) all.insert(part.begin(), part.end());
  return {all.begin(), all.end()};
}

size_t CellChoice::brokenOf(size_t index) const {
  return size_t(std::ranges::count_if(cells_[index].values,
                                      [&](double value) { return !satisfies(bound(index), value, value); }));
}

std::vector<size_t> CellChoice::surestPart() const {
  std::vector<size_t> surest;
  for (const plan::Claim& part : criterion_.claim.children)
    if (const std::vector<size_t> own = holding(part);
        !own.empty() && (surest.empty() || marginOf(worst(own)) > marginOf(worst(surest))))
      surest = own;
  return surest;
}

std::vector<size_t> CellChoice::with(Verdict verdict) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i].verdict == verdict) found.push_back(i);
  }
  return found;
}

double CellChoice::marginOf(size_t index) const {
  const CellEstimate& estimate = cells_[index];
  if (isAbsence(planned(index))) return estimate.verdict == Verdict::Pass ? INFINITY : 0;
  if (criterion_.confidence && estimate.interval) {
    // Margins are compared at one confidence: Holm's correction gives the surest cells the widest intervals.
    const stats::Interval& alike = estimate.uncorrected ? *estimate.uncorrected : *estimate.interval;
    // A failing cell is as far off as its end that is nearest to the bound.
    return estimate.verdict == Verdict::Fail ? margin(bound(index), alike.high, alike.low)
                                             : margin(bound(index), alike.low, alike.high);
  }
  double least = INFINITY;
  for (const double v : estimate.values) least = std::min(least, margin(bound(index), v, v));
  return least;
}

std::string_view CellChoice::extremeOf(size_t index, bool breaks) const {
  const bool within = bound(index).relation == plan::Relation::Within;
  if (!criterion_.confidence || cells_[index].constant || within) return extreme(bound(index), breaks);
  return breaks ? "farthest from the bound:" : "closest to the bound:";
}

size_t CellChoice::worst(const std::vector<size_t>& among) const {
  return *std::ranges::min_element(among, [&](size_t a, size_t b) { return marginOf(a) < marginOf(b); });
}

std::pair<size_t, double> CellChoice::worstValue(const std::vector<size_t>& among) const {
  const size_t chosen = worst(among);
  const auto margin_of = [&](double value) { return margin(bound(chosen), value, value); };
  return {chosen, *std::ranges::min_element(cells_[chosen].values, {}, margin_of)};
}

size_t CellChoice::best(const std::vector<size_t>& among) const {
  return *std::ranges::max_element(among, [&](size_t a, size_t b) { return marginOf(a) < marginOf(b); });
}

std::vector<size_t> CellChoice::cellsOf(const plan::Claim& claim) const {
  if (claim.kind == plan::Claim::Kind::Cell) return {claim.cell};
  std::vector<size_t> all;
  for (const plan::Claim& child : claim.children) {
    const std::vector<size_t> own = cellsOf(child);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<size_t> CellChoice::holding(const plan::Claim& part) const {
  if (part.kind == plan::Claim::Kind::Cell)
    return cells_[part.cell].verdict == Verdict::Pass ? std::vector<size_t>{part.cell} : std::vector<size_t>();
  std::vector<std::vector<size_t>> held;
  for (const plan::Claim& child : part.children)
    if (std::vector<size_t> own = holding(child); !own.empty()) held.push_back(std::move(own));
  if (held.size() < std::max<size_t>(1, part.needed())) return {};
  if (part.kind == plan::Claim::Kind::Exists)
    return *std::ranges::max_element(held, {}, [&](const auto& own) { return marginOf(worst(own)); });
  return unionOf(held);
}

std::vector<size_t> CellChoice::failing(const plan::Claim& part) const {
  if (part.kind == plan::Claim::Kind::Cell) {
    const Verdict verdict = cells_[part.cell].verdict;
    const bool fails = verdict == Verdict::Fail || verdict == Verdict::Infeasible;
    return fails ? std::vector<size_t>{part.cell} : std::vector<size_t>();
  }
  std::vector<std::vector<size_t>> failed;
  for (const plan::Claim& child : part.children)
    if (std::vector<size_t> own = failing(child); !own.empty()) failed.push_back(std::move(own));
  if (failed.size() < part.children.size() - part.needed() + 1) return {};
  if (part.needed() == part.children.size())
    return *std::ranges::min_element(failed, {}, [&](const auto& own) { return marginOf(worst(own)); });
  return unionOf(failed);
}

}  // namespace expc::report
