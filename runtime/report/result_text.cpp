#include "runtime/report/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/meaning.h"
#include "runtime/report/attribution_text.h"
#include "runtime/report/commands.h"
#include "runtime/report/description_text.h"
#include "runtime/report/document_text.h"
#include "runtime/report/grid.h"
#include "runtime/report/layout.h"
#include "runtime/report/outcome.h"
#include "runtime/report/remarks.h"
#include "runtime/report/sections.h"
#include "runtime/report/study_text.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

class ResultPrinter : DocumentText {
 public:
  ResultPrinter(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                const ResultTextOptions& options)
      : DocumentText(options.width, options.colour),
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
    if (bare || options_.all) show(comparisonParts(plan_, judgement_));
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
    for (size_t i = 0; i < missing.size() && (i < kMostBrief || options_.all); ++i) {
      const analysis::Meaning& meaning = analysis::meaningOf(missing[i].verdict);
      labelled(std::string(meaning.word), Paint::of(meaning.style),
               paint_.bold(printable(missing[i].what)) + ": " +
                   (said.insert(missing[i].why).second ? printable(missing[i].why) : "for the same reason"),
               0, displayWidth(meaning.word) + 2);
    }
    if (missing.size() > kMostBrief && !options_.all)
      line(fmt::format("… and {} more without a value; the page has all", missing.size() - kMostBrief), 0, 2);
  }

  /// Of a criterion that does not pass the cells that do not; with `--all` all of every one.
  void printCells(const plan::Criterion& criterion, const analysis::CriterionResult& result) {
    // The line of the verdict says all of one cell.
    if (!options_.all && (result.verdict == analysis::Verdict::Pass || result.cells.size() == 1)) return;
    show(criterionCells(plan_, criterion, result, !options_.all), 6);
  }

  void printTable(const plan::Table& table) {
    if (const auto described = describedTable(plan_, *judgement_.description, table)) return show(*described);
    show(gridPart(plan_, buildGrid(plan_, judgement_, table.subject, table.by), table.subject));
  }

  /// The metrics that no table names, a row for each point.
  void printOtherMetrics(const std::vector<plan::Table>& tables) {
    Table table = pointTable(plan_, judgement_, tables);
    if (!options_.all) table.most = kMostBrief;
    const bool some = std::ranges::any_of(table.columns, [](const Column& column) {
      return column.kind == Column::Kind::Number && column.shown == Shown::Everywhere;
    });
    if (!some || table.rows.empty()) return;
    section("measured", "in no table above; medians over trials");
    show(table, 2);
  }

  void printRest() {
    if (const Part where = attributionParts(plan_, analysis::attribute(plan_, judgement_, results_),
                                            withoutAttribution(plan_, judgement_, results_));
        !where.blocks.empty())
      show(where);
    for (const auto& blocks : {describedTexts(plan_, *judgement_.description, results_),
                               trustRemarks(plan_, judgement_, results_), missingRemarks(plan_, judgement_, results_)})
      for (const Described& block : blocks) show(block);
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
