// Finds the looks at a criterion: those that its design plans, those of earlier runs, and those at other versions of
// the program. How much alpha they spend is left to stats/looks.h.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/judge/criteria.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/design.h"
#include "runtime/stats/distributions.h"

namespace expc::judge {
namespace {

/// The number of values that one earlier run saw: those of the cell with the fewest among the cells it judged.
struct Earlier {
  const store::PastLook* look = nullptr;
  unsigned begun = 0, ended = 0;  // values that were there
};

/// `other_versions` gets how many of the other runs judged it with another version of the program.
std::vector<Earlier> earlierRuns(const Index& index, const Criterion& criterion, const std::vector<MeasuredCell>& cells,
                                 unsigned& other_versions) {
  std::vector<Earlier> runs;
  if (index.looks().empty()) return runs;
  std::vector<std::string> subjects;
  std::vector<std::vector<int64_t>> measured;
  for (const MeasuredCell& cell : cells) {
    subjects.push_back(plan::subjectOf(index.plan(), criterion.cells[cell.estimate.cell]));
    measured.push_back(cell.runs);
    std::ranges::sort(measured.back());
  }
  for (const store::PastLook& look : index.looks()) {
    std::optional<Earlier> run;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (look.judged && !look.judged->subjects.count(subjects[i])) continue;
      const auto first = std::ranges::lower_bound(measured[i], look.run);
      const auto past = std::upper_bound(first, measured[i].end(), look.run);
      const Earlier own{&look, unsigned(first - measured[i].begin()), unsigned(past - measured[i].begin())};
      if (!run || own.ended < run->ended) run = own;
    }
    if (run && run->ended > 0)
      runs.push_back(*run);
    else if (look.said)
      other_versions +=
          std::ranges::any_of(subjects, [&](const auto& one) { return look.other_programs.contains(one); });
  }
  return runs;
}

/// The looks of earlier runs in their order; the looks that the judged design plans come last. A look with fewer values
/// than an interval takes saw nothing.
LookHistory historyOf(const Evidence& evidence, const Criterion& criterion, const std::vector<MeasuredCell>& cells,
                      const KindDesign& design) {
  LookHistory history;
  const unsigned fewest = stats::minimumPairs(criterion.confidence.value_or(kConfidence));
  const auto plan = [&](unsigned repeat, const std::vector<unsigned>& looks, unsigned begun) {
    if (history.ended || (begun >= fewest && repeat <= history.planned)) return;
    history.planned = repeat;
    if (begun < fewest) history.looks.clear();
    for (const unsigned look : looks)
      if (begun < fewest || look > begun) history.looks.insert(look);
  };
  const auto say = [&](const Earlier& run, const store::RunClaims::Planned* planned) {
    if (run.ended < fewest) return;
    if (history.ended) {
      if (run.ended > *history.ended) history.further.insert(run.ended);
    } else if (run.look->at_look || history.looks.count(run.ended)) {
      history.looks.insert(run.ended);
    } else if (!planned || planned->repeat >= history.planned || run.ended >= history.planned) {
      history.ended = run.ended;
    } else {
      history.early.insert(run.ended);
    }
    history.unread += !planned;
  };
  unsigned there = 0;
  for (const Earlier& run : earlierRuns(evidence.index, criterion, cells, history.other_versions)) {
    const store::RunClaims::Planned* planned = nullptr;
    if (run.look->judged) planned = entryOf(run.look->judged->planned, design.kind);
    if (planned) plan(planned->repeat, planned->looks, run.begun);
    if (run.look->said || !planned) say(run, planned);
    there = run.ended;
  }
  plan(design.repeat, design.looks, there);
  return history;
}

/// The share of alpha that one look at all that was planned leaves over for certain: only exact tests of one level do.
double leftOver(const Criterion& criterion, const std::vector<MeasuredCell>& cells, const LookHistory& history,
                unsigned of) {
  const bool exact =
      history.looks.empty() && of <= stats::kExactPairs && std::ranges::all_of(cells, [&](const MeasuredCell& cell) {
        return !cell.stopped_by_width && plan::isPaired(criterion.cells[cell.estimate.cell]) &&
               cell.estimate.scope.sessions <= 1;
      });
  return exact ? stats::unspentShare(1 - *criterion.confidence, of, unsigned(cells.size())) : stats::kLeastLeft;
}

}  // namespace

std::set<unsigned> LookHistory::before(unsigned values) const {
  std::set<unsigned> all = early;
  for (const unsigned look : looks)
    if (!ended || look < *ended) all.insert(look);
  if (ended) all.insert(*ended);
  all.insert(further.begin(), further.end());
  all.erase(all.lower_bound(values), all.end());
  return all;
}

std::vector<stats::LookAt> LookHistory::spending(unsigned values, unsigned of, Place place) const {
  std::set<unsigned> at;
  if (place == Place::Planned)
    std::ranges::copy_if(looks, std::inserter(at, at.end()), [&](unsigned one) { return one < values; });
  else
    at = before(values);
  at.insert(values);
  std::vector<stats::LookAt> all;
  double on_the_way = 0, ahead = 0;
  for (const unsigned one : at) {
    const double fraction = double(one) / of;
    if (place == Place::Planned ? one == values || looks.count(one) : looks.count(one) && one < of)
      on_the_way = stats::plannedShare(fraction);
    if (place != Place::Planned && (early.count(one) || (place == Place::Early && one == values)))
      ahead = left / 2 * fraction;
    const double beyond = one > of ? left / 2 * (1 - 1 / fraction) : 0;
    all.push_back({double(one), (one < of || place == Place::Planned ? on_the_way : 1 - left) + ahead + beyond});
  }
  return all;
}

stats::LookLevels LookHistory::levelsAt(unsigned values, unsigned of) const {
  if (ended && values == *ended) return stats::LookLevels(spending(values, values, Place::Planned));
  if (ended && values > *ended) return stats::LookLevels(spending(values, *ended, Place::Further));
  return stats::LookLevels(
      spending(values, ended.value_or(of), early.contains(values) ? Place::Early : Place::Planned));
}

Standing standingOf(const Evidence& evidence, const Criterion& criterion, const std::vector<MeasuredCell>& cells) {
  using Place = LookHistory::Place;
  Standing standing;
  Look& look = standing.look;
  unsigned tried = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Scope& scope = cells[i].estimate.scope;
    if (i > 0 && scope.complete >= look.now) continue;
    look.now = scope.complete;
    tried = scope.complete + scope.lost;
  }
  look.of = look.now;
  look.confidence = criterion.confidence.value_or(kConfidence);
  const KindDesign* design = plan::designOf(evidence.index.plan(), criterion.cells[cells.front().estimate.cell].kind);
  if (!design) return standing;
  LookHistory& history = standing.history = historyOf(evidence, criterion, cells, *design);
  Place place = Place::Planned;
  if (history.ended) {
    if (look.now > *history.ended) place = Place::Further;
  } else if (tried < history.planned) {
    const bool on_the_way = !history.looks.empty() && design->repeat >= history.planned;
    const bool ends_here = design->repeat < history.planned || !design->looks.empty();
    if (!on_the_way && ends_here && !history.looks.count(look.now)) place = Place::Early;
    if (on_the_way || ends_here) look.of = std::max(look.now, history.planned);
  }
  look.unread = history.unread;
  look.other_versions = history.other_versions;
  const std::set<unsigned> before = history.before(look.now);
  look.before.assign(before.begin(), before.end());
  if (look.now == 0 || standing.only()) return standing;
  const unsigned of = place == Place::Further ? *history.ended : look.of;
  history.left = leftOver(criterion, cells, history, of);
  standing.levels = stats::LookLevels(history.spending(look.now, of, place));
  look.confidence = 1 - standing.levels.nominal(1 - look.confidence);
  return standing;
}

LookHistory afterwards(const Criterion& criterion, const std::vector<MeasuredCell>& cells, const Standing& standing) {
  LookHistory history = standing.history;
  if (!history.ended) history.ended = standing.look.now;
  if (standing.look.now > *history.ended) history.further.insert(standing.look.now);
  history.left = leftOver(criterion, cells, history, *history.ended);
  return history;
}

}  // namespace expc::judge
