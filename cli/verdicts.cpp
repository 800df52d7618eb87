// `expc report`, and the part of other commands that shows verdicts: opens the store, has the results judged, prints
// the judgement and writes the page, or draws one chart, or explains one difference. The wording is that of
// runtime/report. A page that nobody asked for may fail to be written without changing the exit code; the verdicts are
// what counts.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "cli/compilation.h"
#include "cli/version.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"
#include "runtime/describe/attribution.h"
#include "runtime/export/python.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "runtime/report/document.h"
#include "runtime/report/html.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/texts.h"
#include "runtime/simulate/forecast.h"

namespace expc::cli {

namespace {

/// Prints the breakdown of time for every pair of points with this change, and counts the pairs that lack profile
/// trials.
Exit showExplanation(const Findings& findings, const ReportOptions& options, const Console& console) {
  const Plan& plan = findings.plan;
  auto pairs = describe::pairsOf(plan, options.explain);
  if (!pairs) return failure("{}", base::printable(toString(pairs.takeError())));
  std::vector<report::Block> parts;
  json::Array explained;
  for (const auto& [treated, baseline] : *pairs) {
    const auto found = describe::attributePair(findings, treated, baseline);
    if (!found) continue;
    parts.emplace_back(report::attributionPart(plan, *found, report::Detail::Everything));
    explained.push_back(base::written(report::AttributionRecord(*found)));
  }
  // Pairs without profiles are counted rather than listed: a change may concern hundreds of pairs.
  const size_t lacking = pairs->size() - explained.size();
  if (lacking > 0)
    console.message("{} of {} pairs of points with '{}' have no block with profile trials of both. {}", lacking,
                    pairs->size(), options.explain, report::profileAdvice(plan));
  if (explained.empty()) return kError;
  return console.finish(options.format == Format::Json
                            ? base::prettyJson(json::Value(std::move(explained))) + "\n"
                            : report::documentText(parts, console.width(), console.colourOut()));
}

/// Returns the name of a chart as the name of a file: "gain over gpus by precision" is "gain-over-gpus-by-precision".
std::string fileName(const std::string& chart) {
  std::string name;
  for (const char letter : chart)
    if (std::isalnum(static_cast<unsigned char>(letter)) || std::strchr("_.=", letter))
      name += letter;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  return name;
}

/// Returns the chart that `--chart` means: its number on the page, its name, or the beginning of exactly one name. ""
/// means the only chart. The error lists all charts.
Expected<const report::Chart*> chosen(const std::vector<report::Chart>& charts, const std::string& wanted) {
  std::string names;
  // An exact name or number wins at once, so a name that is the beginning of another one stays reachable.
  std::vector<const report::Chart*> begins;
  for (size_t i = 0; i < charts.size(); ++i) {
    // All names are collected for the error, with the numbers that work as well.
    names += fmt::format("\n  {}  {}", i + 1, base::printable(charts[i].name));
    if (charts[i].name == wanted || std::to_string(i + 1) == wanted) return &charts[i];
    if (charts[i].name.starts_with(wanted)) begins.push_back(&charts[i]);
  }
  if (begins.size() == 1) return begins[0];
  if (charts.empty()) return failure("the report has no chart: nothing to draw was measured yet");
  const std::string why = wanted.empty()   ? "the report has several charts. Choose one with --chart"
                          : begins.empty() ? fmt::format("the report has no chart '{}'", base::printable(wanted))
                                           : fmt::format("several charts begin with '{}'", base::printable(wanted));
  return failure("{} with a name or a number of these:{}", why, names);
}

/// Draws the chart that the options choose into a file and prints that file's name.
Exit drawOne(const std::vector<report::Chart>& charts, const ReportOptions& options, const Console& console) {
  const char* format = wordOf(options.format);
  auto chart = TRY(chosen(charts, options.chart));
  const std::string path = options.to.empty() ? fileName(chart->name) + "." + format : options.to;
  TRY(exports::drawChart(*chart, format, path));
  return console.finish(base::printable(path) + "\n");
}

}  // namespace

Expected<store::Store> openStore(const std::string& folder, const Console* console) {
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(folder, messages);
  if (console) console->messages(messages);
  return store;
}

Exit showVerdicts(const Plan& plan, const Results& results, const ReportOptions& options, const Console& console) {
  // Judged once; the page, the text and the exit code all come from it.
  const Conclusions judgement = simulate::judge(plan, results);
  const Findings findings{plan, judgement, results};
  if (!options.explain.empty()) return showExplanation(findings, options, console);
  if (options.format != Format::Text && options.format != Format::Json)
    return drawOne(report::namedCharts(findings), options, console);

  // The page comes before the text, so that the text can say where the page lies.
  const std::string page =
      options.html.empty() ? (std::filesystem::path(options.results) / report::pageName(plan)).string() : options.html;
  const std::optional<rehearsal::Study> rehearsed = rehearsedOf(plan, options.results, console);
  // A rehearsal is shown beside measurements; it is no result itself.
  report::HtmlOptions html;
  html.folder = options.results;
  html.program = "expc " + std::string(kVersion);
  html.rehearsed = rehearsed ? &*rehearsed : nullptr;
  Error written = report::writeHtml(page, findings, html);
  const bool page_failed = bool(written);
  if (page_failed && options.html.empty())  // nobody asked for it: the verdicts are what counts
    console.message("the report page was not written: {}", toString(std::move(written)));
  else if (page_failed)
    console.error(std::move(written));

  // The page may have failed and the text still be worth reading.
  bool printed;
  if (options.format == Format::Json) {
    printed = console.print(base::prettyJson(report::resultJson(findings, html.rehearsed)) + "\n");
  } else {
    report::ResultTextOptions text;
    text.width = console.width();
    text.colour = console.colourOut();
    text.folder = options.results;
    text.all = options.all;
    text.brief = options.brief;
    if (!page_failed) text.html_path = page;
    printed = console.print(report::resultText(findings, text));
  }
  return (page_failed && !options.html.empty()) || !printed ? kError : judge::exitCode(judgement);
}

std::optional<rehearsal::Study> rehearsedOf(const Plan& plan, const std::string& results, const Console& console) {
  Expected<rehearsal::Study> found = rehearsal::read(results, plan.study);
  if (found) return std::move(*found);
  console.message("cannot read the rehearsal: {}", toString(found.takeError()));
  return std::nullopt;
}

Error canShow(const ReportOptions& options, size_t studies) {
  // A document, a picture and a page under a given name are of one study each; text can follow text.
  const char* what = options.format == Format::Json   ? "a document"
                     : options.format != Format::Text ? "a picture"
                     : !options.html.empty()          ? "a page"
                                                      : nullptr;
  return what ? oneStudy(options.study, studies, what) : Error::success();
}

// Order: an interrupt ends everything, errors come before verdicts, and among these the worst verdict decides.
int worse(int first, int second) {
  // Every exit code of this program is in the list, so both are found.
  static constexpr std::array<int, 8> kOrder = {kInterrupted, kError,         kUsage,      kBroken,
                                                kSomeFail,    kSomeUndecided, kNothingRan, kSuccess};
  return *std::min(std::ranges::find(kOrder, first), std::ranges::find(kOrder, second));
}

Exit report(const ReportOptions& options, const Console& console) {
  std::optional<store::Store> store;
  const auto plans = TRY(loadMeasured(options, console, &store));
  // Options of pictures are refused for other formats rather than ignored.
  const bool picture = options.format != Format::Text && options.format != Format::Json;
  if (!picture && (!options.chart.empty() || !options.to.empty()))
    return usage("--chart and --to need --format svg, png or pdf");
  TRY(canShow(options, plans.size()));
  int code = kSuccess;
  for (const ChosenPlan& one : plans) {
    const Results results =
        options.machine.null_gpus.empty() ? store->load(one.plan) : store->loadLatest(one.plan, true);
    // The store is not needed after the last study. For a large study it is a fifth of all memory, and judging needs
    // the most.
    if (&one == &plans.back()) store.reset();
    code = worse(code, console.codeOf(showVerdicts(one.plan, results, options, console)));
  }
  return code;
}

}  // namespace expc::cli
