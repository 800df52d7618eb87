// The text of `expc report` and of the end of `expc run`. The answer comes first, then verdicts, tables that the study
// asks for, and what to do next. Everything else appears with --all, or on the page.

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/describe/attribution.h"
#include "runtime/judge/block_values.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/answer.h"
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

/// Room for the words in front of the last lines ("Next", "Details").
constexpr unsigned kRoom = 12;

/// Returns a command as its user typed it.
std::string commandText(const plan::Workload& workload) {
  constexpr unsigned kWidest = 40;
  if (!workload.command || workload.command->arguments.empty()) return workload.name;
  const std::vector<std::string>& words = workload.command->arguments;
  const bool shell = words.size() == 3 && words[0] == "sh" && words[1] == "-c";
  StringRef whole = words.back();
  whole.consume_front("cd \"$$EXPC_STUDY_FOLDER\" && ");
  const auto typed_word = [](const std::string& word) {
    return word.find_first_of(" '\"\\") == std::string::npos ? word : shellWord(word);
  };
  std::string text = shell ? whole.str() : joined(textsOf(words, typed_word), " ");
  for (const auto& [coded, typed] : {std::pair("$$", "$"), {"${", "{"}})
    for (size_t at = 0; (at = text.find(coded, at)) != std::string::npos; ++at) text.replace(at, 2, typed);
  return elided(text, kWidest);
}

constexpr char kCommand[] = "command";

/// Returns the plan with commands in place of the names that workloads got from them.
Plan withCommands(Plan plan) {
  for (plan::Factor& factor : plan.factors) {
    if (factor.name != "workload") continue;
    factor.name = kCommand;
    for (plan::Level& level : factor.levels)
      for (const plan::Workload& workload : plan.workloads)
        if (level.label == workload.label) level.label = commandText(workload);
  }
  for (Criterion& criterion : plan.criteria) std::ranges::replace(criterion.factors, "workload", kCommand);
  return plan;
}

/// The lines that a report without `all` takes at most, if what the study asks for leaves room.
constexpr auto kMostLinesOfAll = 40;

/// Builds the blocks in the order in which they are shown.
struct ResultReport : Findings {
  const ResultTextOptions& options;
  /// The most rows of what was not asked for; 0 leaves such tables out.
  size_t most = kMostBrief;
  std::vector<Block> blocks = {};

  /// The answer and a row for each command, with where the rest is.
  void brief() {
    Paragraph answer = answerOf(*this, true).block();
    answer.apart = false;
    blocks.emplace_back(std::move(answer));
    Table table{.label = "Commands", .all = plan.points.size()};
    const bool named = base::findNamed(plan.factors, kCommand) >= 0;
    if (!named) table.columns.push_back({kCommand, Column::Kind::Label});
    for (const plan::Factor& factor : plan.factors) table.columns.push_back({factor.name, Column::Kind::Label});
    for (const Metric& metric : plan.metrics) table.columns.push_back({metric.name});
    table.columns.push_back({"runs"});
    std::vector<unsigned> n(plan.points.size());
    for (const Point& point : plan.points) {
      Row& row = table.rows.emplace_back();
      if (!named) row.add(commandText(plan.workloads[point.workload]));
      for (size_t i = 0; i < plan.factors.size(); ++i) row.add(plan.levelLabel(point, i));
    }
    for (const Metric& metric : plan.metrics) {
      const std::vector<GridCell> cells = metricColumn(plan, judgement, metric, plan.points.size());
      for (size_t i = 0; i < cells.size(); ++i) {
        n[i] = std::max(n[i], cells[i].n);
        table.rows[i].cells.push_back(valueCell(cells[i]));
      }
    }
    for (size_t i = 0; i < n.size(); ++i) table.rows[i].add(std::to_string(n[i]));
    say(blocks, {});
    blocks.emplace_back(std::move(table));
    say(blocks, {});
    if (std::string wide = widenedNotice(plan, judgement, textsOf(plan.metrics, &Metric::name)); !wide.empty())
      say(blocks, {.text = std::move(wide)});
    if (!missingRemarks(*this).empty()) say(blocks, {.text = trialsText(*this), .word = "Trials", .room = kRoom});
    say(blocks, {.text = fmt::format("Study {} (continue: expc run {})   Page {}", plan.source, shellWord(plan.source),
                                     options.html_path),
                 .whole = true});
  }

  void build() {
    nullCards();
    const std::string devices = measuredOnText(plan, results);
    const Answer answer = answerOf(*this);
    say(blocks, {.of = plan.study + framed(", ", selectionText(plan))});
    if (!plan.doc.empty()) say(blocks, {plan.doc});
    blocks.emplace_back(answer.block());
    verdicts(answer);
    append(blocks, tableBlocks(plan, judgement, plan.tables));
    // A study without tables and claims shows what it compares, or what it measures.
    const bool bare = plan.tables.empty() && plan.criteria.empty();
    const auto tables = bare && plan.comparisons.empty() ? defaultTables(plan) : std::vector<plan::Table>();
    append(blocks, tableBlocks(plan, judgement, tables));
    if (bare || options.all) append(blocks, comparisonParts(plan, judgement));
    if (options.all) rest();
    if (options.all || plan.tables.empty()) otherMetrics(tables.empty() ? plan.tables : tables);
    std::vector<std::string> tabled = textsOf(plan.tables, &plan::Table::subject);
    std::ranges::move(textsOf(tables, &plan::Table::subject), std::back_inserter(tabled));
    if (std::string wide = widenedNotice(plan, judgement, tabled); !wide.empty())
      say(blocks, {.text = std::move(wide), .apart = true});
    say(blocks, {.text = trialsText(*this), .word = "Trials", .room = kRoom, .apart = true});
    if (!devices.empty()) line("Machine", devices);
    if (options.all) line("Program", workloadText(plan));
    next();
    nullCards();  // long results scroll the beginning away
  }

 private:
  void nullCards() {
    if (judgement.null_cards)
      say(blocks, {.word = "SIMULATED GPUS:", .style = "fail", .of = kNullCardsNotice, .room = 16});
  }

  /// Adds a line for each verdict, with marks and open cells; with `all` everything that is known of it.
  void verdicts(const Answer& answer) {
    // Names line up behind the longest word of a verdict.
    unsigned columns = 0;
    for (const CriterionResult& result : judgement.criteria)
      columns = std::max(columns, displayWidth(markedVerdict(result)));
    bool first = true;
    std::vector<std::string> not_asked;
    std::set<std::string> marks;  // explained once, below the verdicts
    for (const Judged& judged : judgedOf(plan, judgement)) {
      const CriterionResult& result = judged.result;
      if (!options.all && result.verdict == Verdict::NotAsked) {
        not_asked.push_back(result.name);
        continue;
      }
      // The author's sentence is what the verdict answers.
      const bool asks = !options.all && !judged.criterion.doc.empty();
      say(blocks, {.text = options.all ? judged.criterion.text
                           : asks      ? judged.criterion.doc
                                       : whyText(judged),
                   .word = markedVerdict(result),
                   .style = judge::meaningOf(result).style,
                   .of = result.name,
                   .room = columns + 2,
                   .apart = options.all || std::exchange(first, false)});
      Part below;
      if (options.all)
        below.blocks.emplace_back(Facts{verdictFacts(*this, judged)});
      else
        for (const std::string& text :
             {asks ? whyText(judged) : "", result.untrusted ? worthText(judged) : "", otherLooksText(result),
              result.verdict == Verdict::Broken ? "" : unevenLossText(judgement, judged),
              joined(driftNotes(judged.criterion, judgement.description), "; ")})
          if (!text.empty()) say(below.blocks, {.word = text, .style = "none"});
      if (const std::string text = markText(result); !options.all && !result.untrusted && !answer.says_few)
        marks.insert(text);
      // Cells are shown for a verdict that does not pass, only those that do not; of a single one, and where nothing
      // was run, the verdict's line says it all.
      const size_t open =
          std::ranges::count_if(result.cells, [](const auto& cell) { return cell.verdict != Verdict::Pass; });
      if (options.all ||
          (most > 0 && result.verdict != Verdict::Pass && result.verdict != Verdict::NotRun && open > 1)) {
        Table cells = criterionCells(judged, !options.all);
        if (!options.all) cells.most = most;
        below.blocks.emplace_back(std::move(cells));
      }
      blocks.emplace_back(std::move(below));
    }
    if (!not_asked.empty())
      say(blocks, {.text = inWords(plan, plan::because({.code = plan::Reason::NotAsked})).text,
                   .word = std::string(judge::meaningOf(Verdict::NotAsked).word),
                   .style = "none",
                   .of = joined(not_asked),
                   .room = columns + 2,
                   .apart = first});
    marks.erase("");
    for (const std::string& text : marks) say(blocks, {.text = text});
    missing();
    if (std::string sessions = answer.says_sessions ? "" : sessionsNotice(plan, judgement); !sessions.empty())
      say(blocks, {.text = std::move(sessions), .apart = marks.empty() && most > 0});
    if (options.all && !judgement.criteria.empty()) say(blocks, {.of = tallyText(judgement), .apart = true});
  }

  /// Adds what was asked for and has no value.
  void missing() {
    std::vector<MissingThing> things = missingThings(plan, judgement);
    // The verdict of a broken configuration has said why it lacks its results.
    if (!options.all)
      std::erase_if(things, [&](const MissingThing& one) {
        return std::ranges::any_of(judgedOf(plan, judgement), [&](const Judged& of) {
          return of.result.verdict == Verdict::Broken &&
                 StringRef(judge::withoutIds(whyText(of))).ends_with(judge::withoutIds(one.why));
        });
      });
    // Places that were not run are counted behind the first.
    size_t not_run = 0;
    if (!options.all)
      std::erase_if(things, [&](const MissingThing& one) { return one.verdict == Verdict::NotRun && ++not_run > 1; });
    for (MissingThing& one : things)
      if (one.verdict == Verdict::NotRun && not_run > 1) one.what += fmt::format(" and {} more", not_run - 1);
    std::vector<Block> lines = missingLines(things);
    if (lines.empty()) return;
    // A free line separates them from the verdicts above.
    std::get<Paragraph>(lines.front()).apart = true;
    if (!options.all) shorten(lines, most, {}, " without a value; the page has all");
    append(blocks, std::move(lines));
  }

  /// Adds the metrics that no table names, a row for each point.
  void otherMetrics(const std::vector<plan::Table>& tables) {
    Table table = pointTable(plan, judgement, tables);
    if (!options.all) table.most = most;
    const bool some = std::ranges::any_of(table.columns, [](const Column& column) {
      return column.kind == Column::Kind::Number && column.shown == Shown::Everywhere;
    });
    if (some && table.most > 0 && !table.rows.empty())
      blocks.emplace_back(Part{.title = "Other metrics", .rest = "medians over trials", .blocks = {std::move(table)}});
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

  /// Adds one of the last lines, which are never wrapped, so that they can be copied.
  void line(const char* word, std::string text) {
    say(blocks, {.text = std::move(text), .word = word, .room = kRoom, .whole = true});
  }

  /// Adds commands to type next, and where to find more.
  void next() {
    // The first line says "Next", further ones "Or".
    const char* word = "Next";
    size_t shown = 0;
    for (const NextCommand& one : nextCommands(plan, judgement, options.folder)) {
      if (!options.all && shown++ > most) break;
      say(blocks, {.text = one.what_for + ":", .word = std::exchange(word, "Or"), .room = kRoom});
      llvm::SmallVector<StringRef> commands;
      StringRef(one.command).split(commands, "; ");
      for (const StringRef command : commands) say(blocks, {.text = command.str(), .depth = kRoom / 4, .whole = true});
    }
    for (const Judged& of : judgedOf(plan, judgement))
      if (of.result.next && !of.result.next->helps() && (options.all || shown++ <= most))
        say(blocks, {.text = of.result.name + ": " + nextStepText(of.criterion, of.result),
                     .word = std::exchange(word, "Or"),
                     .room = kRoom});
    if (!options.all) line("Details", reportCommand(plan, options.folder) + " --all");
    if (!options.html_path.empty()) line("Page", options.html_path);
  }
};

}  // namespace

std::string resultText(const Findings& findings, const ResultTextOptions& options) {
  // The text is built as blocks first, so that a terminal of any width renders it.
  if (options.brief) {
    const Plan named = withCommands(findings.plan);
    ResultReport report{{named, findings.judgement, findings.results}, options};
    report.brief();
    return documentText(report.blocks, options.width, options.colour);
  }
  const auto textWith = [&](size_t most) {
    ResultReport report{findings, options, most};
    report.build();
    return documentText(report.blocks, options.width, options.colour);
  };
  const std::string text = textWith(kMostBrief);
  // A noisy run has more that is open. Where shorter lists make room for all, they are shorter.
  const auto fits = [](const std::string& one) { return std::ranges::count(one, '\n') <= kMostLinesOfAll; };
  if (options.all || fits(text)) return text;
  const std::string shortest = textWith(0);
  if (!fits(shortest)) return text;
  const std::string shorter = textWith(kMostBrief / 2);
  return fits(shorter) ? shorter : shortest;
}

}  // namespace expc::report
