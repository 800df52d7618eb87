#include "runtime/report/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/analysis/format.h"
#include "runtime/analysis/infeasible.h"
#include "runtime/analysis/needs.h"
#include "runtime/plan/json.h"
#include "runtime/report/diagnosis_text.h"
#include "runtime/report/document_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/published_time.h"
#include "runtime/report/resolution.h"
#include "runtime/report/sections.h"
#include "runtime/report/study_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Up to this many points are listed whole; of more, the first so many.
constexpr size_t kListedPoints = 20;

std::string cellsText(uint64_t cells, uint64_t unfit) {
  return counted(cells, "cell") + (unfit ? fmt::format(", and {} more that memory is expected to exclude", unfit) : "");
}

class PlanPrinter : DocumentText {
 public:
  PlanPrinter(const plan::Plan& plan, const PlanExtras& extras)
      : DocumentText(extras.width, extras.colour),
        plan_(plan),
        extras_(extras),
        counts_(extras.counts ? *extras.counts : PlanCounts::of(plan)),
        published_(publishedTime(plan)) {}

  std::string print() {
    printHead();
    printFactors();
    printPoints();
    printRehearsed();
    printTrials();
    printComparisons();
    printCriteria();
    return std::move(out_);
  }

 private:
  void printHead() {
    const std::string selection = selectionText(plan_);
    line(fmt::format("{} ({}{}{})", paint_.bold("study " + plan_.study), printable(plan_.source),
                     selection.empty() ? "" : ", " + printable(selection),
                     extras_.system == "local" ? "" : ", for " + printable(extras_.system)),
         0, 2);
    if (!plan_.doc.empty()) line(printable(plan_.doc), 0, 0);
    line(printable((plan_.workloads.size() > 1 ? "workloads " : "workload ") + workloadText(plan_)), 0, 2);
  }

  void printFactors() {
    if (plan_.factors.empty()) return;
    section("Factors");
    show(factorTable(plan_), 2);
  }

  void printPoints() {
    section("Points", pointsText(plan_, counts_.points));
    show(leftOutBlocks(plan_), 2);
    if (extras_.counts) return printCounted();
    using Kind = Column::Kind;
    Table table{
        .label = "Points",
        .columns = {{"point", Kind::Label}},
        .all = plan_.points.size(),
        .most = extras_.all_points || plan_.points.size() <= kListedPoints ? plan_.points.size() : kListedPoints,
        .rest = "`--all` or `--format jsonl` lists every point"};
    for (const plan::Factor& factor : plan_.factors) table.columns.push_back({factor.name, Kind::Label});
    table.columns.push_back({"", Kind::Prose});
    for (size_t p = 0; p < table.most; ++p) {
      const plan::Point& point = plan_.points[p];
      Row row{{{point.id}}};
      for (size_t i = 0; i < plan_.factors.size(); ++i) row.add(plan_.levelLabel(point, i));
      row.add(!point.unavailable.empty()           ? "not available"
              : !point.expected_infeasible.empty() ? "expected infeasible"
                                                   : "");
      table.rows.push_back(std::move(row));
    }
    show(table, 2);
  }

  void printCounted() {
    if (counts_.available < counts_.points)
      line(fmt::format("{} not available on this system", counted(counts_.points - counts_.available, "point")), 2, 6);
    if (counts_.expected_infeasible > 0)
      line(fmt::format("{} expected infeasible, started only with --try-infeasible",
                       counted(counts_.expected_infeasible, "point")),
           2, 6);
    line("too many to list: `--where CONDITION` and `--page N` show some, `--format jsonl` gives all of them", 2, 4);
  }

  void printRehearsed() {
    if (!extras_.rehearsed) return;
    const size_t most = extras_.all_points ? SIZE_MAX : kListedPoints;
    if (const Part part = rehearsalPart(plan_, *extras_.rehearsed, {.most_points = most, .steps = false});
        !part.blocks.empty())
      show(part);
  }

  void printTrials() {
    const uint64_t points = counts_.available - std::min(counts_.available, counts_.expected_infeasible);
    std::string rest;
    const Table table = kindTable(plan_, points, rest);
    if (const auto seconds = secondsFromStored())
      rest += ", about " + durationText(*seconds) + " (from stored trials)";
    else if (published_)
      rest += fmt::format(", {} {} and {} of GPUs (from published times)",
                          published_->known < published_->of ? "at least" : "about", durationText(published_->seconds),
                          durationText(published_->device_seconds));
    if (extras_.counted && !extras_.counted->trials.empty()) {
      const analysis::Index index(plan_, *extras_.counted, analysis::Index::Keep::ForRun);
      uint64_t left = 0;
      for (const plan::KindDesign& kind : plan_.design.kinds) left += analysis::remaining(index, kind.kind).trials;
      rest += fmt::format(": {} stored, {} left", index.tally().valid, left);
    }
    if (plan_.design.budget_seconds) rest += ", budget " + durationText(*plan_.design.budget_seconds);
    section("Trials", rest);
    show(table, 2);
    if (!extras_.refused.empty())  // on one line, so that its paths can be taken over
      out_ += "  " + paint_.yellow("a run does not start now: " + printable(extras_.refused)) + '\n';
    if (extras_.counted)
      for (const std::string& why : extras_.counted->not_counted_reasons)
        line(paint_.yellow("kept, and will not count: " + printable(why)), 2, 4);
    if (!secondsFromStored() && !extras_.counts)
      line("how long they take is not known before trials of each kind are stored", 2, 4);
    for (const plan::KindDesign& kind : plan_.design.kinds)
      for (const plan::Until& until : kind.until)
        line(printable(fmt::format("{} blocks go on after {}, up to {}, until {} at every cell", toString(kind.kind),
                                   kind.repeat, kind.most(), untilText(plan_, until))),
             2, 4);
    for (const plan::Control& control : plan_.controls) {
      const plan::Point* point = plan_.findPoint(control.point);
      line(printable(fmt::format(
               "control {}: {} once more in each block, {}", control.name, point ? plan_.label(*point) : control.point,
               control.name == plan::kAlone ? "with nothing beside it, to see whether blocks disturb each other"
                                            : "to see what the same twice differs by")),
           2, 4);
    }
    if (plan_.design.share > 1)
      line(fmt::format("up to {} blocks at a time, each on devices of its own", plan_.design.share), 2, 4);
    line(fmt::format("each block runs every point once in a fresh random order; seed {}", plan_.design.seed), 2, 4);
    std::optional<double> seconds = secondsFromStored();
    if (!seconds && published_) seconds = published_->seconds;
    if (seconds && plan_.design.budget_seconds && *seconds > *plan_.design.budget_seconds)
      line(paint_.yellow("the estimate exceeds the budget"), 2, 4);
  }

  void printComparisons() {
    if (plan_.comparisons.empty()) return;
    section("Comparisons");
    for (size_t i = 0; i < plan_.comparisons.size(); ++i) {
      const plan::Comparison& comparison = plan_.comparisons[i];
      line(printable(fmt::format("{} = {}: {}", comparison.name, comparison.text,
                                 cellsText(counts_.comparison_cells[i], counts_.comparison_unfit[i]))),
           2, 6);
      if (const std::string lacking = withoutPartnerText(comparison); !lacking.empty()) line(printable(lacking), 6, 6);
    }
  }

  void printCriteria() {
    if (plan_.criteria.empty()) return;
    section("Criteria");
    for (size_t i = 0; i < plan_.criteria.size(); ++i) {
      const plan::Criterion& criterion = plan_.criteria[i];
      line(paint_.bold(criterion.name) + ": " + printable(criterion.text), 2, 6);
      if (!criterion.doc.empty()) line(printable(criterion.doc), 6, 6);
      if (criterion.not_asked) {
        line("not asked: the selection or the system leaves it no point" +
                 (criterion.domain.empty() ? std::string() : " (" + printable(criterion.domain) + ")"),
             6, 6);
        continue;
      }
      std::string text = cellsText(counts_.criterion_cells[i], counts_.criterion_unfit[i]);
      if (!criterion.domain.empty()) text += "; " + printable(criterion.domain);
      line(text, 6, 6);
      if (extras_.counts) continue;
      if (!extras_.diagnosis || extras_.diagnosis->design.criteria[i].reach == 0)
        line(resolutionText(plan_, criterion, extras_.noise), 6, 6);
      if (extras_.diagnosis) printDiagnosis(criterion, extras_.diagnosis->design.criteria[i]);
    }
  }

  /// What the noise of stored trials lets expect.
  void printDiagnosis(const plan::Criterion& criterion, const simulate::CriterionDiagnosis& one) {
    if (one.reach > 0 && criterion.confidence)
      line("expected resolution ±" + resolutionOf(criterion, one.reach) + " at the noise of stored trials", 6, 6);
    if (const std::string text = chancesText(plan_, criterion, one, extras_.diagnosis->studies); !text.empty())
      line(text, 6, 6);
  }

  std::string resolutionOf(const plan::Criterion& criterion, double reach) const {
    if (criterion.cells.front().estimator == plan::Estimator::PairedDifference)
      return analysis::formatQuantity(reach, criterion.unit, analysis::dimensionOf(plan_, criterion.cells.front()));
    return analysis::formatQuantity(reach, "", "share");
  }

  std::optional<double> secondsFromStored() const {
    return extras_.diagnosis ? extras_.diagnosis->design.seconds : std::nullopt;
  }

  const plan::Plan& plan_;
  const PlanExtras& extras_;
  PlanCounts counts_;
  std::optional<PublishedTime> published_;
};

}  // namespace

std::string planText(const plan::Plan& plan, const PlanExtras& extras) { return PlanPrinter(plan, extras).print(); }

PlanCounts PlanCounts::of(const plan::Plan& plan) {
  PlanCounts counts;
  counts.points = plan.points.size();
  const std::set<std::string> claimed = analysis::claimedInfeasible(plan);
  for (const plan::Point& point : plan.points) {
    counts.available += point.unavailable.empty();
    counts.expected_infeasible += point.unavailable.empty() && !point.startable() && !claimed.contains(point.id);
  }
  std::set<std::string_view> excluded, none;
  for (const plan::Point& point : plan.points)
    if (!point.expected_infeasible.empty()) excluded.insert(point.id);
  const auto count = [](const std::vector<plan::Cell>& cells, const std::set<std::string_view>& excluded,
                        std::vector<uint64_t>& startable, std::vector<uint64_t>& unfit) {
    unfit.push_back(static_cast<uint64_t>(std::count_if(cells.begin(), cells.end(), [&](const plan::Cell& cell) {
      return std::any_of(cell.points.begin(), cell.points.end(),
                         [&](const plan::Place& place) { return excluded.count(place.point) > 0; });
    })));
    startable.push_back(cells.size() - unfit.back());
  };
  for (const plan::Comparison& comparison : plan.comparisons)
    count(comparison.cells, excluded, counts.comparison_cells, counts.comparison_unfit);
  // What claims that memory runs out is about just these.
  for (const plan::Criterion& criterion : plan.criteria)
    count(criterion.cells, criterion.infeasible ? none : excluded, counts.criterion_cells, counts.criterion_unfit);
  return counts;
}

std::string planLinesHeader(const plan::Plan& head, const PlanCounts& counts) {
  using llvm::json::Array;
  using llvm::json::Object;
  // The plan itself, with the size of what the lines hold in place of the long parts.
  plan::Plan bare = head;
  Array factors;
  for (plan::Factor& factor : bare.factors) {
    Object entry{{"name", plan::jsonText(factor.name)},
                 {"levels", factor.levels.size()},
                 {"declared", Array(factor.declared)},
                 {"baseline", nullptr}};
    if (factor.baseline) entry["baseline"] = plan::jsonText(factor.levels[*factor.baseline].label);
    factors.push_back(std::move(entry));
    factor.levels.clear();
    factor.baseline.reset();
  }
  Object header = *plan::toJson(bare).getAsObject();
  header["factors"] = std::move(factors);
  header["schema"] = "expc.plan-lines/2";
  header["points"] = counts.points;
  header["available"] = counts.available;
  header["expected_infeasible"] = counts.expected_infeasible;
  header.erase("comparisons");
  Array criteria;
  for (size_t i = 0; i < head.criteria.size(); ++i) {
    const plan::Criterion& criterion = head.criteria[i];
    criteria.push_back(Object{{"name", plan::jsonText(criterion.name)},
                              {"text", plan::jsonText(criterion.text)},
                              {"domain", plan::jsonText(criterion.domain)},
                              {"cells", counts.criterion_cells[i] + counts.criterion_unfit[i]},
                              {"not_asked", criterion.not_asked}});
  }
  header["criteria"] = std::move(criteria);
  return plan::canonicalJson(std::move(header));
}

}  // namespace expc::report
