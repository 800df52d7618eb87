// The text of `expc report` and of the end of `expc run`. Answers come first: tables that the study asks for, verdicts,
// then what to do next. Everything else appears with --all, or on the page.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/describe/attribution.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/commands.h"
#include "runtime/report/description_text.h"
#include "runtime/report/document.h"
#include "runtime/report/grid.h"
#include "runtime/report/paint.h"
#include "runtime/report/sections.h"
#include "runtime/report/texts.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Room for the words in front of the last lines ("next:", "report:").
constexpr unsigned kRoom = 8;

/// Builds the blocks in the order in which they are shown.
struct ResultReport : describe::Findings {
  const ResultTextOptions& options;
  std::vector<Block> blocks = {};

  void build() {
    nullCards();
    const std::string selection = selectionText(plan), devices = measuredOnText(plan, results);
    append(blocks, studyHead(plan, (selection.empty() ? "" : ", ") + selection,
                             devices.empty() ? "" : ", measured on " + devices));
    for (const plan::Table& table : plan.tables) blocks.push_back(tableBlock(plan, judgement, table));
    // A study without tables and claims shows what it compares, or what it measures.
    const bool bare = plan.tables.empty() && plan.criteria.empty();
    const auto tables = bare && plan.comparisons.empty() ? defaultTables(plan) : std::vector<plan::Table>();
    for (const plan::Table& table : tables) blocks.push_back(tableBlock(plan, judgement, table));
    if (bare || options.all) append(blocks, comparisonParts(plan, judgement));
    verdicts();
    if (options.all) rest();
    otherMetrics(tables.empty() ? plan.tables : tables);
    blocks.emplace_back(Paragraph{.text = trialsText(*this), .word = "trials:", .room = kRoom, .apart = true});
    next();
    nullCards();  // long results scroll the beginning away
  }

 private:
  void nullCards() {
    if (judgement.null_cards)
      blocks.emplace_back(Paragraph{.word = "NULL CARDS:", .style = "fail", .of = kNullCardsNotice, .room = 12});
  }

  /// Adds a line for each verdict, with marks and open cells; with `all` everything that is known of it.
  void verdicts() {
    // Names line up behind the longest word of a verdict.
    unsigned columns = 0;
    for (const judge::CriterionResult& result : judgement.criteria)
      columns = std::max(columns, displayWidth(markedVerdict(result)));
    for (const Judged& judged : judgedOf(plan, judgement)) {
      const judge::CriterionResult& result = judged.result;
      blocks.emplace_back(Paragraph{.text = options.all ? judged.criterion.text : whyText(judged),
                                    .word = markedVerdict(result),
                                    .style = judge::meaningOf(result).style,
                                    .of = result.name,
                                    .room = columns + 2,
                                    .apart = options.all || &result == &judgement.criteria.front()});
      Part below;
      if (options.all)
        below.blocks.emplace_back(Facts{verdictFacts(*this, judged)});
      else
        for (const std::string& text : {marksOf(result).empty() ? "" : worthText(judged), otherLooksText(result),
                                        unevenLossText(judgement, judged)})
          if (!text.empty()) below.blocks.emplace_back(Paragraph{.word = text, .style = "none"});
      // Cells are shown for a verdict that does not pass, only those that do not; with a single cell the verdict's line
      // says it all.
      if (options.all || (result.verdict != judge::Verdict::Pass && result.cells.size() != 1))
        below.blocks.emplace_back(criterionCells(judged, !options.all));
      blocks.emplace_back(std::move(below));
    }
    missing();
    if (std::string sessions = sessionsNotice(plan, judgement); !sessions.empty())
      blocks.emplace_back(Paragraph{.text = std::move(sessions), .apart = true});
    if (!judgement.criteria.empty()) blocks.emplace_back(Paragraph{.of = tallyText(judgement), .apart = true});
  }

  /// Adds what was asked for and has no value.
  void missing() {
    std::vector<Block> lines = missingLines(missingThings(plan, judgement));
    if (lines.empty()) return;
    // A free line separates them from the verdicts above.
    std::get<Paragraph>(lines.front()).apart = true;
    if (!options.all) shorten(lines, kMostBrief, {}, " without a value; the page has all");
    append(blocks, std::move(lines));
  }

  /// Adds the metrics that no table names, a row for each point.
  void otherMetrics(const std::vector<plan::Table>& tables) {
    Table table = pointTable(plan, judgement, tables);
    if (!options.all) table.most = kMostBrief;
    const bool some = std::ranges::any_of(table.columns, [](const Column& column) {
      return column.kind == Column::Kind::Number && column.shown == Shown::Everywhere;
    });
    if (some && !table.rows.empty())
      blocks.emplace_back(
          Part{.title = "measured", .rest = "in no table above; medians over trials", .blocks = {std::move(table)}});
  }

  /// Adds everything that only `all` shows.
  void rest() {
    if (Part where = attributionParts(plan, describe::attribute(*this), withoutAttribution(*this));
        !where.blocks.empty())
      blocks.emplace_back(std::move(where));
    append(blocks, describedParts(plan, judgement.description, results));
    append(blocks, trustRemarks(*this));
    append(blocks, missingRemarks(*this));
  }

  /// Adds commands to type next, and where to find more. Commands are never wrapped, so that they can be copied.
  void next() {
    const auto line = [&](const char* word, std::string text) {
      blocks.emplace_back(Paragraph{.text = std::move(text), .word = word, .room = kRoom, .whole = true});
    };
    // The first line says "next:", further ones "or:".
    const char* word = "next:";
    for (const NextCommand& one : nextCommands(plan, judgement, options.folder)) {
      line(word, one.command);
      blocks.emplace_back(Paragraph{.text = one.what_for, .depth = kRoom / 4});
      word = "or:";
    }
    for (const Judged& of : judgedOf(plan, judgement))
      if (of.result.next && !of.result.next->helps())
        line(std::exchange(word, "or:"), of.result.name + ": " + nextStepText(of.criterion, of.result));
    if (!options.all) line("rest:", reportCommand(plan, options.folder) + " --all");
    if (!options.html_path.empty()) line("report:", options.html_path);
  }
};

}  // namespace

std::string resultText(const describe::Findings& findings, const ResultTextOptions& options) {
  // The text is built as blocks first, so that a terminal of any width renders it.
  ResultReport report{findings, options};
  report.build();
  return documentText(report.blocks, options.width, options.colour);
}

}  // namespace expc::report
