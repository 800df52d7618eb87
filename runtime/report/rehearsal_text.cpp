#include "runtime/report/rehearsal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/analysis/format.h"
#include "runtime/rehearsal/bound.h"
#include "runtime/report/layout.h"
#include "runtime/report/rehearsal_columns.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using rehearsal::Outcome;

/// "runs", of several "run".
std::string verb(Outcome outcome, size_t points) {
  if (points != 1 && outcome == Outcome::Runs) return "run";
  if (points != 1 && outcome == Outcome::LacksData) return "lack data";
  if (points != 1 && outcome == Outcome::DoesNotFit) return "do not fit";
  return std::string(toString(outcome));
}

/// Whole sentences of a long reason: CUDA's advice on memory that ran out fills eight lines. JSON has all of it.
std::string beginningOf(const std::string& reason) {
  constexpr size_t most = 240;
  if (reason.size() <= most) return reason;
  const size_t end = reason.rfind(". ", most);
  return end == std::string::npos ? reason : reason.substr(0, end + 1) + " …";
}

class RehearsalPrinter : TerminalText {
 public:
  RehearsalPrinter(const plan::Plan& plan, const rehearsal::Study& study, const RehearsalTextOptions& options)
      : TerminalText(options.width, options.colour), plan_(plan), study_(rehearsalOf(plan, study)), options_(options) {
    for (size_t i = 0; i < plan.factors.size(); ++i)
      if (plan.factors[i].levels.size() > 1) factors_.push_back(i);
  }

  std::string print() {
    if (study_.points.empty()) return "";
    section("Rehearsed", titleRest());
    out_ += table(memoryColumns(), /*outcomes=*/true).render(options_.width, 2, paint_);
    if (options_.steps && count(Outcome::Runs) + count(Outcome::LacksData) > 0) {
      section("A step", "of the rank that does most");
      out_ += table(stepColumns(), /*outcomes=*/false).render(options_.width, 2, paint_);
    }
    out_ += '\n';
    printReasons();
    printSummary();
    return std::move(out_);
  }

 private:
  size_t count(Outcome outcome) const {
    return static_cast<size_t>(std::count_if(study_.points.begin(), study_.points.end(),
                                             [&](const rehearsal::Point& seen) { return seen.outcome == outcome; }));
  }

  std::string titleRest() const {
    const size_t all = plan_.points.size();
    std::string text = study_.points.size() == all
                           ? counted(all, "point")
                           : fmt::format("{} of {}", study_.points.size(), counted(all, "point"));
    if (const std::string cards = cardsText(study_); !cards.empty()) text += " on " + cards + ", which compute nothing";
    return text;
  }

  /// A row for each point; without outcomes only those that run have something to show.
  TextTable table(const std::vector<RehearsalColumn>& columns, bool outcomes) const {
    std::vector<std::string> header;
    for (const size_t factor : factors_) header.push_back(plan_.factors[factor].name);
    if (factors_.empty()) header.emplace_back("point");
    const auto labels = static_cast<unsigned>(header.size());
    if (outcomes) header.emplace_back("");
    for (const RehearsalColumn& column : columns) header.emplace_back(column.name);
    TextTable table(std::move(header), labels);
    if (outcomes) table.words({labels});
    size_t shown = 0;
    for (const plan::Point& point : plan_.points) {
      const rehearsal::Point* seen = study_.find(point.id);
      if (!seen || (!outcomes && !seen->rehearsed)) continue;
      if (shown++ == options_.most_points) break;
      std::vector<std::string> row;
      for (const size_t factor : factors_) row.push_back(plan_.levelLabel(point, factor));
      if (factors_.empty()) row.push_back(point.id);
      if (outcomes) row.push_back(outcomeText(point, *seen));
      for (const RehearsalColumn& column : columns)
        row.push_back(seen->rehearsed ? column.text(plan_, point, *seen) : "");
      table.add(std::move(row));
    }
    return table;
  }

  void printReasons() {
    if (study_.points.size() > options_.most_points)
      line(fmt::format("… and {} more", study_.points.size() - options_.most_points), 2, 4);
    for (const Outcome outcome : {Outcome::LacksData, Outcome::Failed, Outcome::DoesNotFit, Outcome::NotRehearsed}) {
      Reasons reasons;
      for (const rehearsal::Point& seen : study_.points)
        if (seen.outcome == outcome) reasons.add(beginningOf(seen.reason), seen.label);
      for (const std::string& text : reasons.lines(verb(outcome, 1), verb(outcome, 2))) line(printable(text), 2, 6);
      if (outcome == Outcome::Failed && count(outcome) > 0 && !options_.logs.empty())
        line("what ranks printed lies in " + printable(options_.logs), 6, 6);
    }
  }

  void printSummary() {
    std::vector<std::string> counts;
    for (const Outcome outcome :
         {Outcome::Runs, Outcome::LacksData, Outcome::Failed, Outcome::DoesNotFit, Outcome::NotRehearsed})
      if (const size_t number = count(outcome); number > 0)
        counts.push_back(fmt::format("{} {}", number, verb(outcome, number)));
    line(joined(counts), 2, 4);
    if (const std::string text = farthestEstimate(); !text.empty()) line(text, 2, 4);
    if (const std::string text = leastText(); !text.empty()) line(text, 2, 4);
  }

  /// A bound of the whole plan. Of points that were not rehearsed nothing is known, so it is one of less than all then.
  std::string leastText() const {
    const auto seconds = rehearsal::leastDeviceSeconds(plan_, study_);
    if (!seconds) return "";
    return printable(
        fmt::format("by the rates of {} the steps of the plan take at least {} GPU hours (a bound, not measured)",
                    plan_.system, analysis::formatQuantity(*seconds / 3600, "")));
  }

  /// Which estimate is farthest from what was seen.
  std::string farthestEstimate() const {
    const plan::Point* at = nullptr;
    double farthest = -1;
    for (const plan::Point& point : plan_.points) {
      const rehearsal::Point* seen = study_.find(point.id);
      const auto estimate = estimatedPeak(point);
      if (!estimate || !seen || !seen->rehearsed || rehearsedPeak(*seen->rehearsed) == 0) continue;
      const double off = std::abs(*estimate / static_cast<double>(rehearsedPeak(*seen->rehearsed)) - 1);
      if (off <= farthest) continue;
      farthest = off;
      at = &point;
    }
    return at ? printable(fmt::format("estimates of the peak are at most {:.1f} % off (at {})", 100 * farthest,
                                      plan_.label(*at)))
              : "";
  }

  const plan::Plan& plan_;
  const rehearsal::Study study_;
  const RehearsalTextOptions& options_;
  std::vector<size_t> factors_;  // that vary
};

}  // namespace

std::string rehearsalText(const plan::Plan& plan, const rehearsal::Study& study, const RehearsalTextOptions& options) {
  return RehearsalPrinter(plan, study, options).print();
}

}  // namespace expc::report
