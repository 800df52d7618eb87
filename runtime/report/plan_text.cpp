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
#include "runtime/report/layout.h"
#include "runtime/report/published_time.h"
#include "runtime/report/rehearsal_text.h"
#include "runtime/report/resolution.h"
#include "runtime/report/study_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Up to this many points are listed whole; of more, the first so many.
constexpr size_t kListedPoints = 20;

std::string rangeText(uint64_t least, uint64_t most) {
  return least == most ? std::to_string(least) : fmt::format("{}..{}", least, most);
}

std::string cellsText(uint64_t cells, uint64_t unfit) {
  return counted(cells, "cell") + (unfit ? fmt::format(", and {} more that memory is expected to exclude", unfit) : "");
}

class PlanPrinter : TerminalText {
 public:
  PlanPrinter(const plan::Plan& plan, const PlanExtras& extras)
      : TerminalText(extras.width, extras.colour),
        plan_(plan),
        extras_(extras),
        counts_(extras.counts ? *extras.counts : PlanCounts::of(plan)),
        claimed_(analysis::claimedInfeasible(plan)),
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
    TextTable table({"factor", "levels", "baseline", "of"}, 3, true);
    for (const plan::Factor& factor : plan_.factors) {
      const std::string declared = declaredText(factor);
      table.add({factor.name, levelsText(factor), factor.baseline ? factor.levels[*factor.baseline].label : "–",
                 declared.empty() ? "all declared" : declared});
    }
    out_ += table.render(extras_.width, 2, paint_);
  }

  void printPoints() {
    uint64_t removed = 0;
    for (const plan::RemovedGroup& group : plan_.removed) removed += group.count;
    std::string counts =
        removed ? fmt::format("{} of {} in the product; {} removed by rules", counts_.points, plan_.product, removed)
                : fmt::format("{}, the whole product", counts_.points);
    section("Points", counts);
    for (const plan::RemovedGroup& group : plan_.removed) printRemoved(group);
    if (extras_.counts) return printCounted();
    printReasons("not available on this system", [](const plan::Point& point) { return point.unavailable; });
    const auto expected = [&](bool claimed) {
      return [this, claimed](const plan::Point& point) {
        return point.unavailable.empty() && claimed_.contains(point.id) == claimed ? point.expected_infeasible : "";
      };
    };
    printReasons("expected infeasible, started only with --try-infeasible", expected(false));
    printReasons("expected infeasible, and started since a criterion claims it", expected(true));
    TextTable table(pointHeader(), static_cast<unsigned>(plan_.factors.size()) + 1, true);
    const bool all = extras_.all_points || plan_.points.size() <= kListedPoints;
    const size_t shown = all ? plan_.points.size() : kListedPoints;
    for (size_t i = 0; i < shown; ++i) table.add(pointRow(plan_.points[i]));
    out_ += table.render(extras_.width, 2, paint_);
    if (!all)
      line(fmt::format("… and {} more; `--all` or `--format jsonl` lists every point", plan_.points.size() - shown), 2,
           4);
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

  std::vector<std::string> pointHeader() const {
    std::vector<std::string> header = {"point"};
    for (const plan::Factor& factor : plan_.factors) header.push_back(factor.name);
    header.emplace_back("");
    return header;
  }

  std::vector<std::string> pointRow(const plan::Point& point) const {
    std::vector<std::string> row = {point.id};
    for (size_t i = 0; i < plan_.factors.size(); ++i) row.push_back(plan_.levelLabel(point, i));
    row.push_back(!point.unavailable.empty()           ? "not available"
                  : !point.expected_infeasible.empty() ? "expected infeasible"
                                                       : "");
    return row;
  }

  void printRemoved(const plan::RemovedGroup& group) {
    std::string text = fmt::format("{} removed by {} ({})", counted(group.count, "point"), group.rule, group.location);
    if (!group.because.empty()) text += ": " + group.because;
    line(printable(text), 2, 6);
    if (group.examples.empty()) return;
    std::vector<std::string> examples;
    for (const auto& labels : group.examples) examples.push_back(exampleText(plan_, labels));
    if (group.count > group.examples.size()) examples.emplace_back("…");
    line(printable(joined(examples, "; ")), 6, 6);
  }

  template <class ReasonOf>
  void printReasons(const std::string& what, ReasonOf reason_of) {
    Reasons reasons;
    for (const plan::Point& point : plan_.points)
      if (const std::string why = reason_of(point); !why.empty()) reasons.add(why, plan_.label(point));
    for (const std::string& text : reasons.lines(what, what)) line(printable(text), 2, 6);
  }

  void printRehearsed() {
    if (!extras_.rehearsed) return;
    RehearsalTextOptions options;
    options.width = extras_.width;
    options.colour = extras_.colour;
    options.steps = false;
    if (!extras_.all_points) options.most_points = kListedPoints;
    out_ += rehearsalText(plan_, *extras_.rehearsed, options);
  }

  void printTrials() {
    const uint64_t points = counts_.available - std::min(counts_.available, counts_.expected_infeasible);
    uint64_t total = 0, most = 0;
    TextTable table({"kind", "blocks", "points", "trials", "settings", "measures"}, 1, true);
    table.words({4});
    for (const plan::KindDesign& kind : plan_.design.kinds) {
      const uint64_t controls = analysis::hasControls(plan_, kind.kind) ? plan_.controls.size() : 0;
      const uint64_t least_trials = kind.repeat * (points + controls), most_trials = kind.most() * (points + controls);
      total += least_trials;
      most += most_trials;
      table.add({std::string(toString(kind.kind)), repetitionsText(kind),
                 std::to_string(points) + (controls ? " + " + counted(controls, "control") : ""),
                 rangeText(least_trials, most_trials), settingsText(kind.settings),
                 joined(metricsOf(plan_, kind.kind))});
    }
    std::string rest = rangeText(total, most);
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
    out_ += table.render(extras_.width, 2, paint_);
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
  std::set<std::string> claimed_;
  std::optional<PublishedTime> published_;
};

}  // namespace

std::string planText(const plan::Plan& plan, const PlanExtras& extras) { return PlanPrinter(plan, extras).print(); }

PlanCounts PlanCounts::of(const plan::Plan& plan) {
  PlanCounts counts;
  counts.points = plan.points.size();
  counts.available = availablePoints(plan);
  const std::set<std::string> claimed = analysis::claimedInfeasible(plan);
  for (const plan::Point& point : plan.points)
    counts.expected_infeasible += point.unavailable.empty() && !point.startable() && !claimed.contains(point.id);
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
