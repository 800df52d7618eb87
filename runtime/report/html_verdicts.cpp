#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/analysis/meaning.h"
#include "runtime/analysis/published.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_table.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/outcome.h"
#include "runtime/report/remarks.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Rows of one table of cells; a page of more is slow to lay out. The data at its end has all.
constexpr size_t kMaxRows = 200;
/// Verdicts that are listed above their cards; of more, only their tallies.
constexpr size_t kMaxListed = 12;

std::string badge(std::string_view style, std::string_view sign, std::string_view word) {
  return fmt::format("<span class=\"badge {}\"><span aria-hidden=\"true\">{}</span> {}</span>", style, sign,
                     html(word));
}

/// The word and the marks of a verdict.
std::string badges(const analysis::CriterionResult& result) {
  const analysis::Meaning& meaning = analysis::meaningOf(result);
  std::string out = badge(meaning.style, meaning.sign, meaning.word);
  for (const std::string& mark : marksOf(result)) out += " " + badge("open", "!", mark);
  return out;
}

std::string capitalised(const std::string& text) {
  return llvm::StringRef(text).take_front().upper() + text.substr(std::min<size_t>(1, text.size()));
}

/// Two columns: estimate and interval.
void addEstimate(HtmlTable& table, const GridCell& cell, const std::vector<double>& bounds, const std::string& unit,
                 const std::string& dimension) {
  const analysis::EstimateText text = partsOf(cell, unit, dimension, bounds);
  const std::string published = html(publishedText(cell, unit, dimension));
  table.number(fmt::format("<b>{}</b>{}", text.estimate.empty() ? "–" : html(text.estimate),
                           published.empty() ? "" : "<small>" + published + "</small>"));
  table.cell(html(text.interval.empty() ? kNoInterval : text.interval),
             cell.interval && !cell.constant ? "num" : "num quiet");
}

/// The verdict of one cell, and why unless the cell is without values, where that stands in their place.
std::string wordText(const analysis::CellEstimate& estimate, bool measured, SaidOnce& reason) {
  const std::string why = measured ? reason(estimate) : "";
  return std::string(analysis::meaningOf(estimate.verdict).word) +
         (why.empty() ? "" : "<small>" + html(why) + "</small>");
}

/// The bound of all cells: none where each has its own, or where the claim is that memory runs out.
std::optional<plan::Bound> sharedBound(const plan::Criterion& criterion) {
  const bool own = std::any_of(criterion.cells.begin(), criterion.cells.end(),
                               [](const plan::Cell& cell) { return cell.bound.has_value(); });
  return own || criterion.infeasible ? std::nullopt : std::optional(criterion.bound);
}

/// What the words of the page mean. It stands before what uses them, closed.
constexpr char kHowToRead[] = R"(<details class="reading"><summary>How to read this page</summary><dl>
<dt>point</dt><dd>One combination of the factors’ levels.</dd>
<dt>trial, run</dt><dd>A point, executed once in a process of its own: one value of each metric, however many steps it has. n counts them, or pairs.</dd>
<dt>block</dt><dd>Every point once, in a fresh random order; a repetition of the study.</dd>
<dt>pair</dt><dd>Two trials of one block and session. A comparison looks at nothing else, so that what drifts between blocks does not count.</dd>
<dt>cell</dt><dd>One row of a claim: the point or pair that it is about.</dd>
<dt>estimate and interval</dt><dd>Of a metric at a point the median over trials, with the exact order-statistic interval (6 trials at least for 95 %). Of a comparison the
Hodges–Lehmann centre of the blocks’ ratios or differences, with the interval of the signed-rank test. “Constant” is a count or size that no trial changed.</dd>
<dt>pass, fail, inconclusive</dt><dd>A claim passes if the whole interval of each of its cells satisfies the bound (with <code>exists</code>: of one), fails if none of an interval does, and is
inconclusive otherwise. Where it says <code>always</code> there is no interval: every single trial must satisfy the bound, and n says how much that is worth.</dd>
<dt>drawings</dt><dd>A dot is an estimate (hollow where it has no interval), a bar its interval, faint dots are single blocks. The bound is a green line; where the claim holds it is shaded.</dd>
<dt>look</dt><dd>More blocks after a verdict are a further look at the same data. Its intervals are wider, so that all looks together keep the confidence.</dd>
<dt>outliers</dt><dd>They are flagged and never dropped.</dd></dl></details>
)";

std::string claim(const Page& page, const analysis::CriterionResult& result, const plan::Criterion& criterion) {
  std::string out =
      fmt::format("<article class=\"claim {}\" id=\"claim-{}\"><header>{}<h3>{}</h3></header>",
                  analysis::meaningOf(result).style, html(result.name), badges(result), html(result.name));
  out += fmt::format("<p class=\"law\"><code>{}</code></p>", html(criterion.text));
  out += "<dl class=\"said\">";
  for (const VerdictLine& line : verdictLines(page.plan, page.judgement, page.results, criterion, result))
    out += fmt::format("<dt>{}</dt><dd class=\"{}\">{}</dd>", html(line.label),
                       line.warns               ? "warns"
                       : line.label == "result" ? "result"
                                                : "",
                       line.label == "where" ? "<code>" + html(line.text) + "</code>" : htmlProse(line.text));
  out += "</dl>";
  const bool one_was_enough =
      criterion.claim.kind == plan::Claim::Kind::Exists && result.verdict == analysis::Verdict::Pass;
  if (!result.cells.empty())
    out += cellTable(page, criterion.factors, criterion.cells, result.cells, criterion.unit, sharedBound(criterion),
                     std::nullopt, one_was_enough ? CellVerdicts::OneWasEnough : CellVerdicts::Each,
                     result.name + " in each cell", result.why, intervalTitle(criterion, result));
  return out + "</article>\n";
}

}  // namespace

std::string cellTable(const Page& page, const std::vector<std::string>& factors, const std::vector<plan::Cell>& planned,
                      const std::vector<analysis::CellEstimate>& estimates, const std::string& unit,
                      const std::optional<plan::Bound>& bound, std::optional<double> neutral, CellVerdicts verdicts,
                      const std::string& label, const std::string& above, const std::string& interval) {
  const double largest = largestOf(estimates);
  std::vector<GridCell> cells;
  std::vector<const analysis::CellEstimate*> shown;
  for (const analysis::CellEstimate& estimate : estimates) {
    if (estimate.cell >= planned.size() || shown.size() == kMaxRows) continue;
    shown.push_back(&estimate);
    cells.push_back(gridCell(page.plan, planned[estimate.cell], estimate, largest));
  }
  if (shown.empty()) return "";
  const plan::Cell& first = planned[shown[0]->cell];
  const std::string dimension(analysis::dimensionOf(page.plan, first));
  const Forest forest(cells, bound, neutral, first.estimator == plan::Estimator::PairedRatio, unit, dimension);

  HtmlTable table("cells", label);
  for (const std::string& factor : factors) table.column(factor);
  const bool judged = verdicts != CellVerdicts::None;
  if (judged) table.column("verdict");
  table.column("estimate", true).column(interval, true);
  const bool bounded = bound || std::any_of(shown.begin(), shown.end(), [&](const analysis::CellEstimate* estimate) {
                         return planned[estimate->cell].bound.has_value();
                       });
  if (bounded) table.column("bound", true);
  table.column("n", true);
  if (!forest.empty())
    table.drawings(fmt::format("dot: estimate; bar: interval; faint dots: single blocks{}",
                               bound ? "; shaded: where the claim holds" : ""));
  SaidOnce reason(above, estimates);
  for (size_t i = 0; i < shown.size(); ++i) {
    const GridCell& cell = cells[i];
    const plan::Cell& of = planned[shown[i]->cell];
    const bool harmless = verdicts == CellVerdicts::OneWasEnough && shown[i]->verdict == analysis::Verdict::Fail;
    const std::string_view style = !judged ? "" : harmless ? "none" : analysis::meaningOf(shown[i]->verdict).style;
    table.row(style);
    for (const std::string& level : of.labels) table.head(html(level));
    const bool measured = cell.estimate || cell.interval;
    if (judged) table.cell(wordText(*shown[i], measured, reason), "word " + std::string(style));
    const std::vector<double> bounds = of.bound ? analysis::ends(*of.bound)
                                       : bound  ? analysis::ends(*bound)
                                                : std::vector<double>();
    if (measured)
      addEstimate(table, cell, bounds, unit, dimension);
    else
      table.cell(html(shown[i]->why.empty() ? cell.note : reason(*shown[i])), "quiet", 2);
    if (bounded) table.number(html(of.bound ? of.bound->text : bound ? bound->text : ""));
    table.number(fmt::format("{}", cell.n));
    if (!forest.empty()) table.cell(forest.row(cell) + forest.axis(), "drawing");
  }
  if (!forest.empty()) table.foot(forest.axis());
  std::string out = table.text();
  if (estimates.size() > shown.size())
    out += fmt::format("<p class=\"quiet\">The first {} of {} cells; the data at the end of the page has all.</p>",
                       shown.size(), estimates.size());
  return out;
}

std::string verdictSection(const Page& page) {
  std::string cards, links;
  for (const analysis::CriterionResult& result : page.judgement.criteria) {
    const plan::Criterion* criterion = criterionOf(page.plan, result);
    if (!criterion) continue;
    cards += claim(page, result, *criterion);
    links += fmt::format("<a href=\"#claim-{0}\">{1} {0}</a>", html(result.name), badges(result));
  }
  std::string trust;
  for (const Described& one : trustRemarks(page.plan, page.judgement, page.results)) trust += folded(one);
  if (cards.empty())
    return std::string(
               "<section id=\"verdicts\"><h2>Verdicts</h2><p>The study claims nothing: it has no "
               "criterion.</p>") +
           trust + "</section>\n";
  std::string summary;
  for (const Tally& tally : tallies(page.judgement))
    summary += fmt::format("<span class=\"tally {}\"><b>{}</b> {}</span>", tally.style, tally.count, tally.word);
  if (page.judgement.criteria.size() <= kMaxListed) summary += "</p><p class=\"verdicts\">" + links;
  std::string next;
  // A run that goes on is what comes next.
  for (const NextCommand& one :
       page.options.again ? std::vector<NextCommand>() : nextCommands(page.plan, page.judgement, page.options.folder))
    next += fmt::format("<li>{}:<br><code>{}</code></li>", html(capitalised(one.what_for)), htmlCommand(one.command));
  if (!next.empty()) next = "<div class=\"next\"><h3>What to do next</h3><ul>" + next + "</ul></div>\n";
  return fmt::format("<section id=\"verdicts\"><h2>Verdicts</h2><p class=\"tallies\">{}</p>\n{}{}{}{}</section>\n",
                     summary, kHowToRead, cards, next, trust);
}

}  // namespace expc::report
