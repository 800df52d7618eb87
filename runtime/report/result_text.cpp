#include "runtime/report/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/analysis/published.h"
#include "runtime/report/attribution_table.h"
#include "runtime/report/attribution_text.h"
#include "runtime/report/description_text.h"
#include "runtime/report/grid.h"
#include "runtime/report/layout.h"
#include "runtime/report/outcome.h"
#include "runtime/report/study_text.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Cells of a criterion or comparison that are listed before "… and n more".
constexpr size_t kListedCells = 40;
constexpr size_t kListedFailures = 10;
constexpr size_t kListedNotes = 6;
/// Pairs of levels whose profiles are listed.
constexpr size_t kListedPairs = 4;

class ResultPrinter : TerminalText {
 public:
  ResultPrinter(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                const ResultTextOptions& options)
      : TerminalText(options.width, options.colour),
        plan_(plan),
        judgement_(judgement),
        results_(results),
        options_(options) {}

  std::string print() {
    printNullCards();
    printHead();
    for (const analysis::CriterionResult& result : judgement_.criteria) printCriterion(result);
    printControls();
    printUntils();
    printNotes();
    for (const plan::Table& table : plan_.tables) printTable(table);
    // Where there are claims or comparisons these say it.
    if (plan_.criteria.empty() && plan_.comparisons.empty())
      for (const plan::Table& table : defaultTables(plan_)) printTable(table);
    for (const plan::Comparison& comparison : plan_.comparisons) printComparison(comparison);
    printDescription();
    printAttributions();
    printLost();
    printFoot();
    printNullCards();  // long results scroll the beginning away
    return std::move(out_);
  }

 private:
  std::string painted(analysis::Verdict verdict) const {
    const std::string word = verdictWord(verdict);
    switch (verdict) {
      case analysis::Verdict::Pass:
        return paint_.green(word);
      case analysis::Verdict::Fail:
      case analysis::Verdict::Infeasible:
        return paint_.red(word);
      case analysis::Verdict::Inconclusive:
        return paint_.yellow(word);
      case analysis::Verdict::NotRun:
      case analysis::Verdict::NotAsked:
        return paint_.faint(word);
    }
    return word;
  }

  void printHead() {
    const std::string selection = selectionText(plan_), devices = measuredOnText(plan_, results_);
    line(paint_.bold("study " + plan_.study) + (selection.empty() ? "" : ", " + printable(selection)), 0, 2);
    if (!plan_.doc.empty()) line(printable(plan_.doc), 0, 0);
    line(printable(workloadText(plan_)) + (devices.empty() ? "" : ", measured on " + printable(devices)), 0, 2);
  }

  void printNullCards() {
    if (judgement_.null_cards) line(paint_.red("NULL CARDS:") + " " + paint_.bold(kNullCardsNotice), 0, 12);
  }

  void printCriterion(const analysis::CriterionResult& result) {
    const plan::Criterion* criterion = criterionOf(plan_, result);
    if (!criterion) return;
    out_ += '\n';
    std::string mark;
    for (const std::string& one : marksOf(result)) mark += paint_.yellow(" (" + one + ")");
    line(painted(result.verdict) + mark + "  " + paint_.bold(result.name) + ": " + printable(criterion->text), 0, 6);
    for (const VerdictLine& said : verdictLines(plan_, judgement_, results_, *criterion, result))
      labelled(said.label, said.warns ? &Paint::yellow : &Paint::faint, printable(said.text), 6, 13);
    if (result.cells.empty()) return;
    std::vector<std::string> header = criterion->factors;
    header.insert(header.end(), {"estimate", "interval", "n", "verdict", ""});
    TextTable table(header, static_cast<unsigned>(criterion->factors.size()), true);
    table.words({criterion->factors.size() + 3});
    SaidOnce reason(result.why);
    const double largest = largestOf(result.cells);
    for (size_t i = 0; i < result.cells.size() && i < kListedCells; ++i) {
      const analysis::CellEstimate& cell = result.cells[i];
      if (cell.cell >= criterion->cells.size()) continue;
      const plan::Cell& planned = criterion->cells[cell.cell];
      std::vector<std::string> row = planned.labels;
      appendEstimate(row, gridCell(plan_, planned, cell, largest), criterion->unit,
                     std::string(analysis::dimensionOf(plan_, planned)),
                     analysis::ends(analysis::boundOf(*criterion, planned)));
      row.push_back(verdictWord(cell.verdict));
      row.push_back(printable(reason(cell.why)));
      table.add(std::move(row));
    }
    out_ += table.render(options_.width, 6, paint_);
    if (result.cells.size() > kListedCells)
      line(fmt::format("… and {} more; the page has all", result.cells.size() - kListedCells), 6, 6);
  }

  /// Three columns: estimate, interval, n.
  static void appendEstimate(std::vector<std::string>& row, const GridCell& cell, const std::string& unit,
                             const std::string& dimension, const std::vector<double>& bounds = {}) {
    const analysis::EstimateText text = partsOf(cell, unit, dimension, bounds);
    row.push_back((text.estimate.empty() ? "–" : text.estimate) +
                  (cell.published ? " " + publishedText(cell, unit, dimension) : ""));
    row.push_back(!text.interval.empty() ? text.interval : cell.estimate ? kNoInterval : "–");
    row.push_back(std::to_string(cell.n));
  }

  void printTable(const plan::Table& table) {
    const Grid grid = buildGrid(plan_, judgement_, table.subject, table.by);
    const plan::Metric* metric = plan_.findMetric(table.subject);
    std::string rest = grid.comparison ? grid.text : "median and 95 % interval over trials";
    if (metric && metric->derived) rest = "= " + metric->text + "; " + rest;
    if (metric && metric->series) rest = "the last value of each series; " + rest;
    section(grid.subject, rest);
    if (grid.rows.empty()) return line("nothing to show", 2, 4);
    // On one line if that fits, else the interval below its estimate.
    const TextTable wide = textTable(grid, " ");
    const bool fits = wide.naturalWidth(2) <= options_.width;
    out_ += (fits ? wide : textTable(grid, "\n")).render(options_.width, 2, paint_);
  }

  TextTable textTable(const Grid& grid, const std::string& separator) const {
    std::vector<std::string> header = grid.row_factors;
    for (const std::string& column : grid.columns)
      header.push_back(grid.column_factor.empty() ? column : grid.column_factor + "=" + column);
    TextTable table(header, static_cast<unsigned>(grid.row_factors.size()));
    for (size_t r = 0; r < grid.rows.size(); ++r) {
      std::vector<std::string> row = grid.rows[r];
      for (const GridCell& cell : grid.cells[r]) row.push_back(cellText(cell, grid.unit, grid.dimension, separator));
      table.add(std::move(row));
    }
    return table;
  }

  void printComparison(const plan::Comparison& comparison) {
    const auto result = std::find_if(judgement_.comparisons.begin(), judgement_.comparisons.end(),
                                     [&](const auto& candidate) { return candidate.name == comparison.name; });
    if (result == judgement_.comparisons.end()) return;
    section(comparison.name,
            comparison.text + (comparison.cells.empty() ? "" : "; of pairs in one block, not of medians"));
    std::vector<std::string> header = comparison.factors;
    header.insert(header.end(), {"estimate", "interval", "n", ""});
    TextTable table(header, static_cast<unsigned>(comparison.factors.size()), true);
    SaidOnce reason;
    const double largest = largestOf(result->cells);
    for (size_t i = 0; i < result->cells.size() && i < kListedCells; ++i) {
      const analysis::CellEstimate& cell = result->cells[i];
      if (cell.cell >= comparison.cells.size()) continue;
      const plan::Cell& planned = comparison.cells[cell.cell];
      std::vector<std::string> row = planned.labels;
      appendEstimate(row, gridCell(plan_, planned, cell, largest), comparison.unit,
                     std::string(analysis::dimensionOf(plan_, planned)));
      row.push_back(printable(reason(cell.why)));
      table.add(std::move(row));
    }
    if (comparison.cells.empty())
      line(kNothingToCompare, 2, 4);
    else
      out_ += table.render(options_.width, 2, paint_);
    if (result->cells.size() > kListedCells)
      line(fmt::format("… and {} more; the page has all", result->cells.size() - kListedCells), 2, 4);
    if (comparison.without_partner)
      line(printable(fmt::format("{} without a partner: {}", counted(comparison.without_partner, "point"),
                                 comparison.without_partner_why)),
           2, 4);
  }

  void printAttributions() {
    const auto all = analysis::attribute(plan_, judgement_, results_);
    if (all.empty()) {
      const std::string why = withoutAttribution(plan_, judgement_, results_);
      if (why.empty()) return;
      section("Where the time went");
      line(why, 2, 4);
      return;
    }
    section("Where the time went", "profile trials; a description, not a verdict");
    for (size_t i = 0; i < all.size() && i < kListedPairs; ++i) {
      if (i) out_ += '\n';
      out_ += attributionText(plan_, all[i], Detail::Summary, options_);
    }
    if (all.size() > kListedPairs)
      line(fmt::format("… and {} more; the page has all", all.size() - kListedPairs), 2, 4);
  }

  void printDescription() {
    for (const Described& part : describedTexts(plan_, *judgement_.description, results_)) {
      section(part.title, part.rest);
      for (const std::string& text : part.lines) line(printable(text), 2, 6);
    }
  }

  void printNotes() {
    const std::map<std::string, unsigned> notes = notesOf(results_);
    if (notes.empty()) return;
    section("Notes of trials");
    size_t listed = 0;
    for (const auto& [note, count] : notes) {
      if (++listed > kListedNotes)
        return line(fmt::format("… and {} more; the page has all", notes.size() - kListedNotes), 2, 4);
      line(fmt::format("{} ({})", printable(note), counted(count, "trial")), 2, 4);
    }
  }

  void printControls() {
    if (judgement_.controls.empty()) return;
    section("Controls", "the same twice in a block");
    for (const analysis::ControlResult& control : judgement_.controls)
      line((control.untrusted ? paint_.yellow("untrusted") + "  " : std::string()) + printable(control.why), 2, 6);
  }

  void printUntils() {
    if (judgement_.untils.empty()) return;
    section("Repetitions");
    for (const analysis::UntilState& state : judgement_.untils) line(printable(untilResultText(plan_, state)), 2, 6);
  }

  void printLost() {
    const auto lost = lostTrials(results_);
    if (lost.empty()) return;
    section("Trials that did not end well", fmt::format("{} of {}", lost.size(), results_.trials.size()));
    // Those that say the same are one line.
    using Alike = std::tuple<plan::TrialKind, store::TrialStatus, std::string_view>;
    struct Those {
      unsigned trials = 0;
      std::set<plan::Place> places;
      std::string first;
    };
    std::map<Alike, Those> those;
    std::vector<Alike> alike;
    for (const store::Trial* trial : lost) {
      const Alike key{trial->key->kind, trial->status, trial->reason};
      Those& same = those[key];
      if (++same.trials == 1) {
        alike.push_back(key);
        same.first = placeText(plan_, trial->place());
      }
      same.places.insert(trial->place());
    }
    for (size_t i = 0; i < alike.size() && i < kListedFailures; ++i) {
      const auto& [kind, status, reason] = alike[i];
      const Those& same = those[alike[i]];
      const size_t more = same.places.size() - 1;
      const std::string others = more > 0 ? fmt::format(" and {} more point{}", more, more == 1 ? "" : "s") : "";
      line(printable(
               fmt::format("{} {}{} {}: {}", toString(kind), same.first, others, store::toString(status), reason)) +
               (same.trials > 1 ? fmt::format(" ({} times)", same.trials) : ""),
           2, 6);
    }
    if (alike.size() > kListedFailures) line(fmt::format("… and {} more", alike.size() - kListedFailures), 2, 6);
    const std::vector<std::string> shortcoming = shortcomings(plan_, judgement_);
    for (size_t i = 0; i < shortcoming.size() && i < kListedFailures; ++i) line(printable(shortcoming[i]), 2, 6);
    if (shortcoming.size() > kListedFailures)
      line(fmt::format("… and {} more", shortcoming.size() - kListedFailures), 2, 6);
  }

  void printFoot() {
    if (results_.kept_not_counted) {
      section("Kept, not counted", counted(results_.kept_not_counted, "trial"));
      for (const std::string& reason : results_.not_counted_reasons) line(printable(reason), 2, 6);
    }
    const std::vector<std::string> published = referencesTexts(plan_);
    if (!published.empty()) out_ += '\n';
    for (const std::string& text : published) line(printable(text), 0, 2);
    printOutcome();
    if (!options_.html_path.empty()) out_ += "\nreport: " + printable(options_.html_path) + '\n';
  }

  void printOutcome() {
    if (judgement_.criteria.empty()) return;
    out_ += '\n' + paint_.bold(tallyText(judgement_)) + '\n';
    const char* label = "next: ";
    for (const NextCommand& next : nextCommands(plan_, judgement_, options_.folder)) {
      out_ += label + printable(next.command) + '\n';  // on one line, so that it can be taken over
      line(next.what_for, 6, 6);
      label = "or:   ";
    }
  }

  const plan::Plan& plan_;
  const analysis::Judgement& judgement_;
  const store::Results& results_;
  const ResultTextOptions& options_;
};

}  // namespace

std::string resultText(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                       const ResultTextOptions& options) {
  return ResultPrinter(plan, judgement, results, options).print();
}

}  // namespace expc::report
