#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/meaning.h"
#include "runtime/report/assets.h"
#include "runtime/report/document_html.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/outcome.h"
#include "runtime/report/remarks.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {
namespace {

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
  if (!result.cells.empty()) out += pageMarkup(criterionCells(page.plan, criterion, result));
  return out + "</article>\n";
}

}  // namespace

std::string verdictSection(const Page& page) {
  std::string cards, links;
  for (const analysis::CriterionResult& result : page.judgement.criteria) {
    const plan::Criterion* criterion = criterionOf(page.plan, result);
    if (!criterion) continue;
    cards += claim(page, result, *criterion);
    links += fmt::format("<a href=\"#claim-{0}\">{1} {0}</a>", html(result.name), badges(result));
  }
  std::string trust;
  for (const Described& one : trustRemarks(page.plan, page.judgement, page.results)) trust += pageMarkup(one);
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
                     summary, assets::reading(), cards, next, trust);
}

}  // namespace expc::report
