// The sections of the page that are not shared with texts: head, verdict cards, tables and plots with their charts,
// sessions and environments. They assemble blocks from the shared sections and add the page's own markup; all text in
// that markup passes through html().

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/numbers.h"
#include "runtime/describe/attribution.h"
#include "runtime/describe/description.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/assets.h"
#include "runtime/report/chart.h"
#include "runtime/report/commands.h"
#include "runtime/report/description_text.h"
#include "runtime/report/document.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"
#include "runtime/report/sections.h"
#include "runtime/report/texts.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// The most different values of a setting that are listed.
constexpr size_t kMaxValues = 4;
/// The most verdicts that are listed above their cards; for more only tallies are shown.
constexpr size_t kMaxListed = 12;

/// Returns the facts that have a text.
Facts factsOf(std::string style, std::vector<Fact> facts) {
  std::erase_if(facts, [](const Fact& one) { return one.text.empty(); });
  return {std::move(facts), std::move(style)};
}

/// Returns the word of a verdict and its marks as badges.
std::vector<Badge> badgesOf(const CriterionResult& result) {
  const judge::Meaning& meaning = judge::meaningOf(result);
  std::vector<Badge> badges{{meaning.style, meaning.sign, std::string(meaning.word)}};
  for (const std::string& mark : marksOf(result)) badges.push_back({"open", "!", mark});
  return badges;
}

/// Flattens a JSON value to rows "a.b.c: value", sorted by name; empty values are left out.
void flatten(const json::Value& value, const std::string& prefix, std::map<std::string, std::string>& rows) {
  if (const auto* object = value.getAsObject()) {
    for (const auto& [key, member] : *object)
      flatten(member, prefix.empty() ? StringRef(key).str() : prefix + "." + StringRef(key).str(), rows);
    return;
  }
  if (const auto* array = value.getAsArray(); array && array->empty()) return;
  const auto text = value.getAsString();
  if (text && text->empty()) return;
  // Sizes of memory get a unit; other numbers are shown as they were recorded.
  const auto bytes = StringRef(prefix).ends_with("memory") ? value.getAsNumber() : std::nullopt;
  rows[prefix] = text ? text->str() : bytes ? formatQuantity(*bytes, "B") : canonicalJson(value);
}

/// Merges environments as JSON texts, each with its number of trials: a setting that all agree on is shown once, a
/// differing one as a list of values with their numbers of trials.
Facts environmentFacts(const std::map<std::string_view, unsigned>& texts) {
  std::map<std::string, std::map<std::string, unsigned>> values;
  for (const auto& [json, trials] : texts) {
    auto value = expectedToOptional(parseJson(json));
    if (!value) continue;
    if (json::Object* said = value->getAsObject()) said->erase("readings");  // they differ in each trial
    std::map<std::string, std::string> rows;
    flatten(*value, "", rows);
    for (const auto& [name, text] : rows) values[name][text] += trials;
  }
  Facts facts;
  for (const auto& [name, counts] : values) {
    const auto different = textsOf(counts, [&](const auto& one) {
      return counts.size() == 1 ? one.first : fmt::format("{} ({})", one.first, counted(one.second, "trial"));
    });
    facts.facts.push_back({name, different.size() <= kMaxValues
                                     ? joined(different, "; ")
                                     : fmt::format("{} different values", different.size())});
  }
  return facts;
}

/// Returns how many trials of each kind ended in each way, over all points.
Table statusTable(const Judgement& judgement, const plan::Design& design) {
  using Status = PointStatus;
  static constexpr std::pair<const char*, unsigned Status::*> kCounts[] = {
      {"planned", &Status::planned},    {"valid", &Status::valid},           {"failed", &Status::failed},
      {"timed out", &Status::timeouts}, {"infeasible", &Status::infeasible}, {"disturbed", &Status::invalid}};
  Table table{.label = "Trials of each kind", .columns = {{"kind", Column::Kind::Label}}};
  for (const auto& [name, count] : kCounts) table.columns.push_back({name});
  for (const KindDesign& kind : design.kinds) {
    Row row{{{std::string(toString(kind.kind))}}};
    for (const auto& [name, count] : kCounts) {
      uint64_t sum = 0;
      for (const Status& status : judgement.points)
        if (status.kind == kind.kind) sum += status.*count;
      row.add(std::to_string(sum));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Returns the digests of data, program and inputs that trials read; the first few of many.
std::string dataDigests(const Results& results) {
  std::set<std::string> all;
  for (const Trial& trial : results.trials)
    if (!trial.key->data.empty()) all.insert(trial.key->data);
  return fewOf({all.begin(), all.end()}, kMaxValues);
}

/// Formats a time: "2026-11-21 05:38 UTC".
std::string minuteText(double unix_time) {
  const auto seconds = std::time_t(unix_time);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
  return text;
}

/// Returns the markup of charts, with a remark about what is not drawn; `what` names that.
std::string chartFigures(Page& page, std::vector<Chart> all, size_t left_out, const char* what,
                         const std::string& name) {
  if (all.empty())
    return left_out ? "<p class=\"quiet\">More points than a chart can tell apart; the table has them.</p>"
                    : "<p class=\"quiet\">Nothing was measured that could be drawn.</p>";
  std::string out = page.figures(std::move(all), name);
  if (left_out) out += fmt::format("<p class=\"quiet\">{} not drawn; the table has them.</p>", counted(left_out, what));
  return out;
}

/// Returns a table that readers open.
Block foldedNumbers(Table table) { return Part{.title = "The numbers", .blocks = {std::move(table)}, .folded = true}; }

/// The grid that a part shows of a subject. A table and a plot of one subject share the chart, which the plot has, and
/// the numbers, which the table has.
enum class Shows { Numbers, NumbersAndChart, ChartAndNumbers, Chart };

/// Returns a table of the study with its charts, or for a plot the charts with the folded table.
Block subjectPart(Page& page, const Grid& grid, const std::string& title, Shows shows) {
  Part part = gridPart(page.plan, grid, title);
  if (part.blocks.empty()) {
    say(part.blocks, {"nothing to show"});
    return part;
  }
  if (shows == Shows::Numbers) return part;
  // Heat maps have no dots.
  if (!areHeatMaps(grid)) part.rest += grid.comparison ? "; dots are single blocks" : "; dots are single trials";
  size_t left_out = 0;
  std::vector<Chart> all = charts(page.plan, grid, left_out);
  Block figures = Figures{chartFigures(page, std::move(all), left_out, "more chart", title)};
  // A plot asks for a picture, a table for numbers; the other form stays at hand.
  if (shows == Shows::NumbersAndChart)
    part.blocks.push_back(std::move(figures));
  else if (shows == Shows::Chart)
    part.blocks = {std::move(figures)};
  else
    part.blocks = {std::move(figures), foldedNumbers(gridTable(grid, title))};
  return part;
}

/// Returns a plot that is not over a factor: a series over its places, or one metric over another.
Block plotPart(Page& page, const plan::Plot& plot, const std::string& title) {
  const bool series = plot.kind(page.plan) == plan::PlotKind::Series;
  size_t left_out = 0;
  std::vector<Chart> all = series ? curveCharts(page.plan, page.judgement.description.curves, plot, left_out)
                                  : scatterCharts(page.plan, page.judgement, plot, left_out);
  Part part{title};
  const Metric* subject = page.plan.findMetric(plot.subject);
  part.rest = !series                            ? "Medians over trials, with 95 % intervals."
              : subject && subject->distribution ? "Medians over trials; the numbers are the median of each trial."
                                                 : "Medians over trials; the numbers are the last values.";
  for (const std::string& name : {plot.subject, plot.over})
    // Without a direction nothing can be said to beat another point.
    if (const Metric* metric = page.plan.findMetric(name); metric && !metric->better && !series)
      part.rest += " No Pareto front: " + name + " declares no direction.";
  part.blocks.emplace_back(
      Figures{chartFigures(page, std::move(all), left_out, series ? "more curve" : "more point", title)});
  const Grid grid = buildGrid(page.plan, page.judgement, plot.subject, plot.by);
  if (!grid.rows.empty()) part.blocks.push_back(foldedNumbers(gridTable(grid, title)));
  return part;
}

/// Returns the grid of a plot over a factor. Rows are the factors that make separate charts, then x; columns are the
/// colour.
Grid gridOf(const Page& page, const plan::Plot& plot) {
  std::vector<std::string> by(plot.by.begin() + (plot.by.empty() ? 0 : 1), plot.by.end());
  by.push_back(plot.over);
  if (!plot.by.empty()) by.push_back(plot.by[0]);
  Grid grid = buildGrid(page.plan, page.judgement, plot.subject, by);
  // If the plot names no colour and another factor varies, that becomes the colour, and x stays what was asked for.
  if (grid.column_factor == plot.over && !grid.row_factors.empty())
    grid = buildGrid(page.plan, page.judgement, plot.subject, {plot.over, grid.row_factors.back()});
  return grid;
}

std::string plotTitle(const plan::Plot& plot) {
  return plot.subject + " over " + plot.over + framed(" by ", joined(plot.by));
}

}  // namespace

Facts headFacts(const Page& page) {
  const Plan& plan = page.plan;
  // Trials are counted, not points: one process may measure many.
  const auto valid = std::ranges::count(page.results.trials, TrialStatus::Valid, &Trial::status);
  return factsOf("strip", {{"Workload", workloadText(plan)},
                           {"Selection", selectionText(plan)},
                           {"Points", std::to_string(plan.points.size())},
                           {"Valid trials", std::to_string(valid)},
                           {"Sessions", std::to_string(page.results.sessions.size())},
                           {"Measured on", measuredOnText(plan, page.results)},
                           {"Written", minuteText(page.options.written) + framed(" by ", page.options.program)}});
}

std::vector<Block> verdictBlocks(const Page& page) {
  std::vector<Block> cards;
  // With few verdicts links to their cards stand above these; the tallies count all.
  std::string links, summary;
  for (const Judged& judged : judgedOf(page.plan, page.judgement)) {
    const CriterionResult& result = judged.result;
    cards.emplace_back(Part{.title = result.name,
                            .law = judged.criterion.text,
                            .blocks = {Facts{verdictFacts(page, judged), "said"}, criterionCells(judged)},
                            .badges = badgesOf(result)});
    links += fmt::format("<a href=\"#claim-{0}\">{1} {0}</a>", html(result.name), badgesMarkup(badgesOf(result)));
  }
  if (cards.empty()) {
    say(cards, {"This study has no criterion, so there is no verdict.", Tone::Plain});
  } else {
    for (const auto& [word, tally] : tallies(page.judgement))
      summary += fmt::format("<span class=\"tally {}\"><b>{}</b> {}</span>", tally.style, tally.count, word);
    if (page.judgement.criteria.size() <= kMaxListed) summary += "</p><p class=\"verdicts\">" + links;
    cards.insert(cards.begin(), Figures{fmt::format("<p class=\"tallies\">{}</p>\n{}", summary, assets::reading())});
  }
  if (std::string sessions = sessionsNotice(page.plan, page.judgement); !page.answer.says_sessions && !sessions.empty())
    say(cards, {std::move(sessions), Tone::Plain});
  if (std::string wide = widenedNotice(page.plan, page.judgement, textsOf(page.plan.metrics, &Metric::name));
      !wide.empty())
    say(cards, {std::move(wide), Tone::Plain});
  std::string next;
  // While a run goes on there is nothing to type.
  for (const NextCommand& one :
       page.options.again ? std::vector<NextCommand>() : nextCommands(page.plan, page.judgement, page.options.folder))
    next += fmt::format("<li>{}:<br><code>{}</code></li>", html(capitalised(one.what_for)), htmlCommand(one.command));
  // A criterion that more blocks do not help gets the reason, and what would help, in words.
  for (const Judged& of : judgedOf(page.plan, page.judgement))
    if (of.result.next && !of.result.next->helps())
      next += fmt::format("<li>{}: {}</li>", html(of.result.name), html(nextStepText(of.criterion, of.result)));
  if (!next.empty())
    cards.emplace_back(Figures{"<div class=\"next\"><h3>What to do next</h3><ul>" + next + "</ul></div>\n"});
  append(cards, trustRemarks(page));
  return cards;
}

std::vector<Block> tableBlocks(Page& page) {
  const Plan& plan = page.plan;
  std::vector<Block> blocks;
  const auto isPlotted = [&](const plan::Table& table) {
    return std::ranges::any_of(plan.plots, [&](const plan::Plot& plot) {
      return plot.subject == table.subject && plot.kind(plan) == plan::PlotKind::Factor;
    });
  };
  for (const plan::Table& table : plan.tables)
    if (auto described = describedTable(plan, page.judgement.description, table))
      blocks.emplace_back(std::move(*described));
    else
      blocks.push_back(subjectPart(page, buildGrid(plan, page.judgement, table.subject, table.by),
                                   table.subject + " by " + joined(table.by),
                                   isPlotted(table) ? Shows::Numbers : Shows::NumbersAndChart));
  const auto isTabled = [&](const plan::Plot& plot) {
    return std::ranges::count(plan.tables, plot.subject, &plan::Table::subject) > 0;
  };
  for (const plan::Plot& plot : plan.plots)
    blocks.push_back(plot.kind(plan) == plan::PlotKind::Factor
                         ? subjectPart(page, gridOf(page, plot), plotTitle(plot),
                                       isTabled(plot) ? Shows::Chart : Shows::ChartAndNumbers)
                         : plotPart(page, plot, plotTitle(plot)));
  for (const plan::Table& table : defaultTables(plan))
    blocks.push_back(subjectPart(page, buildGrid(plan, page.judgement, table.subject, table.by), table.subject,
                                 Shows::NumbersAndChart));
  return blocks;
}

std::vector<Block> attributionBlocks(Page& page) {
  const auto all = describe::attribute(page);
  Part part = attributionParts(page.plan, all, withoutAttribution(page));
  // The bars come first, below the sentence about what profiles are.
  if (std::vector<Chart> bars = profileCharts(page.plan, all); !bars.empty())
    part.blocks.insert(part.blocks.begin() + 1, Figures{page.figures(std::move(bars), "phases of a step")});
  return std::move(part.blocks);
}

std::vector<Block> pointBlocks(const Page& page) {
  const Plan& plan = page.plan;
  const std::string selection = selectionText(plan);
  std::vector<Block> blocks, left_out = leftOutBlocks(plan);
  if (!selection.empty())
    say(blocks, {fmt::format("This page covers the selection \"{}\". Its levels are listed under Design.", selection),
                 Tone::Plain});
  say(blocks, {"Planned: " + pointsText(plan, plan.points.size()) +
                   (left_out.empty() ? "; this system can run all of them." : "."),
               Tone::Plain});
  append(blocks, std::move(left_out));
  return blocks;
}

std::vector<Block> designBlocks(const Page& page) {
  const Plan& plan = page.plan;
  const PlanCounts counts = PlanCounts::of(plan);
  Facts fixed;
  for (auto& [name, value] : fixedParameters(plan)) fixed.facts.push_back({name, value});
  // Points that are expected to run out of memory are not started, so they are not counted here.
  Part trials = trialsPart(plan, counts.available - counts.expected_infeasible);
  trials.rest += " in all";
  return {Part{.title = "Factors", .blocks = {factorTable(plan)}}, std::move(trials),
          Part{.title = "Held fixed", .blocks = {std::move(fixed)}}};
}

std::vector<Block> trialBlocks(const Page& page) {
  std::vector<Block> blocks{statusTable(page.judgement, page.plan.design)};
  append(blocks, missingRemarks(page));
  return blocks;
}

std::vector<Block> environmentBlocks(const Page& page) {
  std::vector<Block> blocks;
  if (page.results.sessions.empty()) say(blocks, {"No session: nothing ran.", Tone::Plain});
  for (const store::Session& session : page.results.sessions) {
    std::string about = minuteText(session.opened.wall) + " to " + minuteText(session.last_seen.wall);
    for (const store::Worker& worker : session.workers)
      about += fmt::format("; worker build {}, environment class {}", worker.build, worker.environment_class);
    blocks.emplace_back(Part{.title = fmt::format("Session {} on {}{}", session.id, session.where.text(),
                                                  session.onNullCards() ? ", simulated GPUs" : ""),
                             .rest = std::move(about),
                             .blocks = {environmentFacts({{session.environment_json, 1}})}});
  }
  // Most trials recorded the same text, so equal texts are parsed once.
  std::map<std::string_view, unsigned> said;  // most trials say the same
  for (const Trial& trial : page.results.trials) ++said[trial.environment_json];
  if (Facts workers = environmentFacts(said); !workers.facts.empty())
    blocks.emplace_back(Part{.title = "Worker details", .blocks = {std::move(workers)}});
  return blocks;
}

Facts repeatFacts(const Page& page) {
  const Plan& plan = page.plan;
  return factsOf("strip", {{"Study", plan.source},
                           {"Digest of the compiled study", plan.digest, "", true},
                           {"Workload", workloadText(plan)},
                           {"Digest of data and program", dataDigests(page.results), "", true}});
}

}  // namespace expc::report
