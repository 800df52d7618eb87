#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>

#include "runtime/analysis/format.h"
#include "runtime/analysis/published.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Rows of one table of cells; a page of more is slow to lay out. The data at its end has all.
constexpr size_t kMaxRows = 500;

struct Look {
  const char* style;
  const char* sign;
};

Look lookOf(analysis::Verdict verdict) {
  switch (verdict) {
    case analysis::Verdict::Pass:
      return {"pass", "✓"};
    case analysis::Verdict::Fail:
      return {"fail", "✕"};
    case analysis::Verdict::Inconclusive:
      return {"open", "?"};
    case analysis::Verdict::Infeasible:
      return {"fail", "⊘"};
    case analysis::Verdict::NotRun:
      return {"none", "…"};
    case analysis::Verdict::NotAsked:
      return {"none", "–"};
  }
  return {"none", ""};
}

std::string badge(analysis::Verdict verdict) {
  const Look look = lookOf(verdict);
  return fmt::format("<span class=\"badge {}\"><span aria-hidden=\"true\">{}</span> {}</span>", look.style, look.sign,
                     verdictWord(verdict));
}

std::string caveatBadge(const std::string& mark) {
  return fmt::format(" <span class=\"badge open\"><span aria-hidden=\"true\">!</span> {}</span>",
                     llvm::StringRef(mark).upper());
}

std::string sentence(const char* style, const std::string& text) {
  return text.empty() ? "" : fmt::format("<p class=\"{}\">{}</p>", style, htmlProse(text));
}

std::string intervalText(const GridCell& cell, const std::vector<double>& bounds, const std::string& unit,
                         const std::string& dimension) {
  if (cell.constant) return "<span class=\"quiet\">constant</span>";
  if (!cell.interval) return "<span class=\"quiet\">none</span>";
  return html(analysis::formatInterval(*cell.interval, unit, dimension, bounds));
}

/// The bound of all cells: none where each has its own, or where the claim is that memory runs out.
std::optional<plan::Bound> sharedBound(const plan::Criterion& criterion) {
  const bool own = std::any_of(criterion.cells.begin(), criterion.cells.end(),
                               [](const plan::Cell& cell) { return cell.bound.has_value(); });
  return own || criterion.infeasible ? std::nullopt : std::optional(criterion.bound);
}

/// What controls and adaptive repetition showed: it says how far the verdicts above can be trusted.
std::string trustSection(const Page& page) {
  std::string out;
  for (const analysis::ControlResult& control : page.judgement.controls)
    out += "<li>" + (control.untrusted ? caveatBadge("untrusted") + " " : std::string()) + html(control.why) + "</li>";
  if (!out.empty()) out = "<h3>Controls: the same twice in a block</h3><ul>" + out + "</ul>";
  std::string widths;
  for (const analysis::UntilState& state : page.judgement.untils)
    widths += "<li>" + html(untilResultText(page.plan, state)) + "</li>";
  if (!widths.empty()) out += "<h3>Repetitions</h3><ul>" + widths + "</ul>";
  if (const std::string published = referencesText(page.plan); !published.empty())
    out += "<p class=\"quiet\">Published values are of " + html(published) +
           "; absolute ones are shown and not judged.</p>";
  return out;
}

std::string claim(const Page& page, const analysis::CriterionResult& result, const plan::Criterion& criterion) {
  std::string badges = badge(result.verdict);
  for (const Caveat& caveat : caveatsOf(result)) badges += caveatBadge(caveat.mark);
  std::string out = fmt::format("<article class=\"claim {}\" id=\"claim-{}\"><header>{}<h3>{}</h3></header>",
                                lookOf(result.verdict).style, html(result.name), badges, html(result.name));
  out += fmt::format("<p class=\"law\"><code>{}</code></p>", html(criterion.text));
  out += sentence("doc", criterion.doc) + sentence("why", result.why);
  for (const Caveat& caveat : caveatsOf(result))
    out +=
        fmt::format("<p class=\"why untrusted\"><b>{}.</b> {}</p>",
                    llvm::StringRef(caveat.mark).take_front().upper() + caveat.mark.substr(1), htmlProse(caveat.why));
  for (const std::string& remark : remarksOn(page.plan, criterion, result)) out += sentence("scope", remark);
  std::vector<std::string> scope;
  if (!result.domain.empty()) scope.push_back(result.domain);
  if (result.verdict != analysis::Verdict::NotAsked) {
    scope.push_back(criterion.infeasible ? memoryScopeText(result.scope)
                                         : scopeText(result.scope, comparesPoints(criterion)));
    if (criterion.confidence)
      scope.push_back(analysis::formatConfidence(*criterion.confidence) + " confidence");
    else if (result.verdict == analysis::Verdict::Pass && !criterion.infeasible)
      scope.push_back(withoutConfidenceText(0, result.scope.complete) + " in each cell");
  }
  out += sentence("scope", joined(scope, "; "));
  if (!result.cells.empty())
    out += cellTable(page, criterion.factors, criterion.cells, result.cells, criterion.unit, sharedBound(criterion),
                     std::nullopt, true);
  return out + "</article>\n";
}

}  // namespace

std::string cellTable(const Page& page, const std::vector<std::string>& factors, const std::vector<plan::Cell>& planned,
                      const std::vector<analysis::CellEstimate>& estimates, const std::string& unit,
                      const std::optional<plan::Bound>& bound, std::optional<double> neutral, bool verdicts) {
  std::vector<GridCell> cells;
  std::vector<const analysis::CellEstimate*> shown;
  for (const analysis::CellEstimate& estimate : estimates) {
    if (estimate.cell >= planned.size() || shown.size() == kMaxRows) continue;
    shown.push_back(&estimate);
    cells.push_back(gridCell(page.plan, planned[estimate.cell], estimate));
  }
  if (shown.empty()) return "";
  const plan::Cell& first = planned[shown[0]->cell];
  const std::string dimension(analysis::dimensionOf(page.plan, first));
  const Forest forest(cells, bound, neutral, first.estimator == plan::Estimator::PairedRatio, unit, dimension);

  std::string out = "<table class=\"cells\"><thead><tr>";
  for (const std::string& factor : factors) out += "<th scope=\"col\">" + html(factor) + "</th>";
  out +=
      "<th scope=\"col\" class=\"num\">estimate</th><th scope=\"col\" class=\"num\">interval</th>"
      "<th scope=\"col\" class=\"num\">n</th>";
  if (verdicts) out += "<th scope=\"col\">verdict</th>";
  if (!forest.empty()) out += "<th scope=\"col\" class=\"drawing\"></th>";
  out += "</tr></thead><tbody>";
  for (size_t i = 0; i < shown.size(); ++i) {
    out += "<tr>";
    for (const std::string& label : planned[shown[i]->cell].labels) out += "<th scope=\"row\">" + html(label) + "</th>";
    const GridCell& cell = cells[i];
    const plan::Cell& of = planned[shown[i]->cell];
    const std::vector<double> bounds = of.bound ? boundEnds(*of.bound)
                                       : bound  ? boundEnds(*bound)
                                                : std::vector<double>();
    if (cell.estimate || cell.interval)
      out += fmt::format("<td class=\"num\"><b>{}</b>{}</td><td class=\"num\">{}</td>",
                         cell.estimate ? html(analysis::formatAgainst(*cell.estimate, bounds, unit, dimension)) : "–",
                         cell.published ? "<br><small>" + html(publishedText(cell, unit, dimension)) + "</small>" : "",
                         intervalText(cell, bounds, unit, dimension));
    else
      out += fmt::format("<td class=\"quiet\" colspan=\"2\">{}</td>", html(cell.note));
    out += fmt::format("<td class=\"num\">{}</td>", cell.n);
    if (verdicts) {
      out += fmt::format("<td class=\"word {}\">{}", lookOf(shown[i]->verdict).style, verdictWord(shown[i]->verdict));
      if ((cell.estimate || cell.interval) && !shown[i]->why.empty())
        out += fmt::format("<br><small>{}</small>", html(shown[i]->why));
      out += "</td>";
    }
    if (!forest.empty()) out += "<td class=\"drawing\">" + forest.row(cell) + "</td>";
    out += "</tr>";
  }
  if (!forest.empty())
    out += fmt::format("</tbody><tfoot><tr><td colspan=\"{}\"></td><td class=\"drawing\">{}</td></tr></tfoot>",
                       factors.size() + (verdicts ? 4 : 3), forest.axis());
  else
    out += "</tbody>";
  out += "</table>";
  if (estimates.size() > shown.size())
    out += fmt::format("<p class=\"quiet\">The first {} of {} cells; the data at the end of the page has all.</p>",
                       shown.size(), estimates.size());
  return scrolled(out);
}

namespace {

/// Verdicts of one kind at the top of the page. One that does not stand as it is printed counts under its mark, as it
/// does for the exit code.
struct Tally {
  std::string style, word;
  unsigned count = 1;
};

Tally tallyOf(const analysis::CriterionResult& result) {
  if (!result.isFinal()) return {lookOf(analysis::Verdict::Inconclusive).style, caveatsOf(result).front().mark};
  return {lookOf(result.verdict).style, llvm::StringRef(verdictWord(result.verdict)).lower()};
}

}  // namespace

std::string verdictSection(const Page& page) {
  std::string cards;
  std::vector<Tally> tallies;
  for (const analysis::CriterionResult& result : page.judgement.criteria) {
    const auto criterion =
        std::find_if(page.plan.criteria.begin(), page.plan.criteria.end(),
                     [&](const plan::Criterion& candidate) { return candidate.name == result.name; });
    if (criterion == page.plan.criteria.end()) continue;
    cards += claim(page, result, *criterion);
    const Tally one = tallyOf(result);
    const auto same =
        std::find_if(tallies.begin(), tallies.end(), [&](const Tally& tally) { return tally.word == one.word; });
    if (same == tallies.end())
      tallies.push_back(one);
    else
      ++same->count;
  }
  if (cards.empty())
    return std::string(
               "<section id=\"verdicts\"><h2>Verdicts</h2><p>The study claims nothing: it has no "
               "criterion.</p>") +
           trustSection(page) + "</section>\n";
  std::string summary;
  for (const Tally& tally : tallies)
    summary += fmt::format("<span class=\"tally {}\"><b>{}</b> {}</span>", tally.style, tally.count, tally.word);
  return fmt::format("<section id=\"verdicts\"><h2>Verdicts</h2><p class=\"tallies\">{}</p>\n{}{}</section>\n", summary,
                     cards, trustSection(page));
}

}  // namespace expc::report
