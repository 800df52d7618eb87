#include "runtime/report/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/analysis/meaning.h"
#include "runtime/plan/find.h"
#include "runtime/report/attribution_table.h"
#include "runtime/report/attribution_text.h"
#include "runtime/report/commands.h"
#include "runtime/report/description_text.h"
#include "runtime/report/grid.h"
#include "runtime/report/layout.h"
#include "runtime/report/outcome.h"
#include "runtime/report/remarks.h"
#include "runtime/report/study_text.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Cells of a criterion that are listed where it does not pass, and of anything with `--all`.
constexpr size_t kListedOpen = 8, kListedCells = 40;
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
    for (const plan::Table& table : plan_.tables) printTable(table);
    // What asks for no table and claims nothing shows what it compares, or what it measures.
    const bool bare = plan_.tables.empty() && plan_.criteria.empty();
    const auto tables = bare && plan_.comparisons.empty() ? defaultTables(plan_) : std::vector<plan::Table>();
    for (const plan::Table& table : tables) printTable(table);
    if (bare || options_.all)
      for (const plan::Comparison& comparison : plan_.comparisons) printComparison(comparison);
    printVerdicts();
    if (options_.all) printRest();
    printOtherMetrics(tables.empty() ? plan_.tables : tables);
    printTrials();
    printNext();
    printNullCards();  // long results scroll the beginning away
    return std::move(out_);
  }

 private:
  void printHead() {
    const std::string selection = selectionText(plan_), devices = measuredOnText(plan_, results_);
    line(paint_.bold("study " + plan_.study) + (selection.empty() ? "" : ", " + printable(selection)), 0, 2);
    if (!plan_.doc.empty()) line(printable(plan_.doc), 0, 0);
    line(printable(workloadText(plan_)) + (devices.empty() ? "" : ", measured on " + printable(devices)), 0, 2);
  }

  void printNullCards() {
    if (judgement_.null_cards) line(paint_.red("NULL CARDS:") + " " + paint_.bold(kNullCardsNotice), 0, 12);
  }

  void printVerdicts() {
    unsigned columns = 0;
    for (const analysis::CriterionResult& result : judgement_.criteria)
      columns = std::max(columns, displayWidth(markedVerdict(result)));
    for (const analysis::CriterionResult& result : judgement_.criteria) {
      const plan::Criterion* criterion = criterionOf(plan_, result);
      if (!criterion) continue;
      if (options_.all || &result == &judgement_.criteria.front()) out_ += '\n';
      const std::string said = options_.all ? criterion->text : result.why;
      labelled(markedVerdict(result), Paint::of(analysis::meaningOf(result).style),
               paint_.bold(result.name) + ": " + printable(said), 0, columns + 2);
      if (options_.all)
        for (const VerdictLine& one : verdictLines(plan_, judgement_, results_, *criterion, result))
          labelled(one.label, one.warns ? &Paint::yellow : &Paint::faint, printable(one.text), 6, 13);
      else if (!marksOf(result).empty())
        line(paint_.faint(printable(worthText(*criterion, result))), 6, 6);
      const std::string losses = options_.all ? "" : unevenLossText(plan_, judgement_, *criterion);
      if (!losses.empty()) line(paint_.faint(printable(losses)), 6, 6);
      printCells(*criterion, result);
    }
    printMissing();
    if (!judgement_.criteria.empty()) out_ += '\n' + paint_.bold(tallyText(judgement_)) + '\n';
  }

  void printMissing() {
    const std::vector<analysis::Missing>& missing = judgement_.missing;
    std::set<std::string> said;
    if (!missing.empty()) out_ += '\n';
    for (size_t i = 0; i < missing.size() && (i < kListedOpen || options_.all); ++i) {
      const analysis::Meaning& meaning = analysis::meaningOf(missing[i].verdict);
      labelled(std::string(meaning.word), Paint::of(meaning.style),
               paint_.bold(printable(missing[i].what)) + ": " +
                   (said.insert(missing[i].why).second ? printable(missing[i].why) : "for the same reason"),
               0, displayWidth(meaning.word) + 2);
    }
    if (missing.size() > kListedOpen && !options_.all)
      line(fmt::format("… and {} more without a value; the page has all", missing.size() - kListedOpen), 0, 2);
  }

  /// Of a criterion that does not pass the cells that do not; with `--all` all of every one.
  void printCells(const plan::Criterion& criterion, const analysis::CriterionResult& result) {
    using analysis::Verdict;
    std::vector<analysis::CellEstimate> shown = result.cells;
    if (!options_.all && result.verdict == Verdict::Pass) return;
    if (!options_.all)
      std::erase_if(shown, [](const analysis::CellEstimate& cell) { return cell.verdict == Verdict::Pass; });
    // The line of the verdict says all of one cell.
    if (shown.empty() || (!options_.all && result.cells.size() == 1)) return;
    std::vector<std::vector<double>> bounds;
    for (const plan::Cell& cell : criterion.cells) bounds.push_back(analysis::ends(analysis::boundOf(criterion, cell)));
    printEstimates(criterion.factors, criterion.cells, shown, criterion.unit, bounds, result.why,
                   intervalTitle(criterion, result));
  }

  /// Estimates of cells, one in a line. `bounds` of each make it one of a criterion; `above` is said above it.
  void printEstimates(const std::vector<std::string>& factors, const std::vector<plan::Cell>& cells,
                      const std::vector<analysis::CellEstimate>& estimates, const std::string& unit,
                      const std::vector<std::vector<double>>& bounds, const std::string& above,
                      const std::string& interval) {
    const bool judged = !bounds.empty();
    const unsigned indent = judged ? 6 : 2;
    std::vector<std::string> header = factors;
    header.insert(header.end(), {"estimate", interval, "n"});
    if (judged) header.push_back("verdict");
    header.emplace_back();
    TextTable table(header, static_cast<unsigned>(factors.size()), true);
    if (judged) table.words({factors.size() + 3});
    SaidOnce reason(above, estimates);
    const double largest = largestOf(estimates);
    const size_t most = options_.all || !judged ? kListedCells : kListedOpen;
    for (size_t i = 0; i < estimates.size() && i < most; ++i) {
      const analysis::CellEstimate& cell = estimates[i];
      if (cell.cell >= cells.size()) continue;
      const plan::Cell& planned = cells[cell.cell];
      const GridCell shown = gridCell(plan_, planned, cell, largest);
      const std::string dimension(analysis::dimensionOf(plan_, planned));
      const analysis::EstimateText text =
          partsOf(shown, unit, dimension, judged ? bounds[cell.cell] : std::vector<double>());
      std::vector<std::string> row = planned.labels;
      row.push_back((text.estimate.empty() ? "–" : text.estimate) +
                    (shown.published ? " " + publishedText(shown, unit, dimension) : ""));
      row.push_back(!text.interval.empty() ? text.interval : shown.estimate ? kNoInterval : "–");
      row.push_back(std::to_string(shown.n));
      if (judged) row.emplace_back(analysis::meaningOf(cell.verdict).word);
      row.push_back(printable(reason(cell)));
      table.add(std::move(row));
    }
    out_ += table.render(options_.width, indent, paint_);
    if (estimates.size() > most)
      line(fmt::format("… and {} more; the page has all", estimates.size() - most), indent, indent);
  }

  void printTable(const plan::Table& table) {
    if (const auto described = describedTable(plan_, *judgement_.description, table)) return print(*described);
    const Grid grid = buildGrid(plan_, judgement_, table.subject, table.by);
    const plan::Metric* metric = plan_.findMetric(table.subject);
    std::string rest =
        grid.comparison ? grid.text + "; 95 % interval over pairs" : "median and 95 % interval over trials";
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
    const auto* result = plan::named(judgement_.comparisons, comparison.name);
    if (!result) return;
    section(
        comparison.name,
        comparison.text + (comparison.cells.empty() ? "" : "; 95 % interval over pairs in one block, not of medians"));
    if (comparison.cells.empty())
      line(kNothingToCompare, 2, 4);
    else
      printEstimates(comparison.factors, comparison.cells, result->cells, comparison.unit, {}, "", "interval");
    if (const std::string lacking = withoutPartnerText(comparison); !lacking.empty()) line(printable(lacking), 2, 4);
  }

  /// The metrics that no table names, a row for each point.
  void printOtherMetrics(const std::vector<plan::Table>& tables) {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows(
        std::min(plan_.points.size(), options_.all ? kListedCells : kListedOpen));
    for (size_t f = 0; f < plan_.factors.size(); ++f) {
      if (plan_.factors[f].levels.size() < 2) continue;
      header.push_back(plan_.factors[f].name);
      for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(plan_.levelLabel(plan_.points[i], f));
    }
    const size_t factors = header.size();
    for (const plan::Metric& metric : plan_.metrics) {
      const auto shows = [&](const plan::Table& one) { return one.subject == metric.name || one.other == metric.name; };
      if (std::ranges::any_of(tables, shows)) continue;
      header.push_back(metric.name);
      for (size_t i = 0; i < rows.size(); ++i) {
        const GridCell cell = metricCell(plan_, judgement_, plan_.points[i], metric);
        rows[i].push_back(cell.estimate ? partsOf(cell, metric.unit, metric.dimension).estimate : cell.note);
      }
    }
    if (header.size() == factors || rows.empty()) return;
    section("measured", "in no table above; medians over trials");
    TextTable table(header, static_cast<unsigned>(factors));
    for (std::vector<std::string>& row : rows) table.add(std::move(row));
    out_ += table.render(options_.width, 2, paint_);
    if (plan_.points.size() > rows.size())
      line(fmt::format("… and {} more points; the page has all", plan_.points.size() - rows.size()), 2, 4);
  }

  void printAttributions() {
    const auto all = analysis::attribute(plan_, judgement_, results_);
    if (all.empty()) {
      const std::string why = withoutAttribution(plan_, judgement_, results_);
      if (!why.empty()) print({"Where the time went", "", {why}});
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

  void print(const Described& block) {
    section(block.title, block.rest);
    if (block.lines.empty()) line("nothing to show", 2, 4);
    for (const std::string& text : block.lines) line(printable(text), 2, 6);
  }

  void printRest() {
    printAttributions();
    for (const auto& blocks : {describedTexts(plan_, *judgement_.description, results_),
                               trustRemarks(plan_, judgement_, results_), missingRemarks(plan_, judgement_, results_)})
      for (const Described& block : blocks) print(block);
  }

  void printTrials() {
    out_ += '\n';
    line("trials: " + printable(trialsText(plan_, judgement_, results_)), 0, 8);
  }

  void printNext() {
    const char* label = "next:   ";
    for (const NextCommand& next : nextCommands(plan_, judgement_, options_.folder)) {
      out_ += label + printable(next.command) + '\n';  // on one line, so that it can be taken over
      line(next.what_for, 8, 8);
      label = "or:     ";
    }
    if (!options_.all) out_ += "rest:   " + printable(reportCommand(plan_, options_.folder)) + " --all\n";
    if (!options_.html_path.empty()) out_ += "report: " + printable(options_.html_path) + '\n';
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
