#include "runtime/export/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/meaning.h"
#include "runtime/export/document.h"
#include "runtime/export/outcome.h"
#include "runtime/report/commands.h"
#include "runtime/report/grid.h"
#include "runtime/report/html_text.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::exports {
namespace {

std::vector<std::string> escaped(std::vector<std::string> texts) {
  std::transform(texts.begin(), texts.end(), texts.begin(), markdownText);
  return texts;
}

std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string header(const std::vector<std::string>& cells) {
  return row(cells) + row(std::vector<std::string>(cells.size(), "---"));
}

/// What readers may open; a blank line makes Markdown of what is inside.
std::string folded(const std::string& title, const std::string& body) {
  return "\n<details><summary>" + title + "</summary>\n\n" + body + "\n</details>\n";
}

std::string more(size_t all) { return all > kMostRows ? fmt::format("\n… and {} more\n", all - kMostRows) : ""; }

std::string verdicts(const Source& source) {
  std::string out;
  for (const auto& result : source.judgement.criteria) {
    const plan::Criterion* criterion = report::criterionOf(source.plan, result);
    if (!criterion) continue;
    if (out.empty()) out = "\n" + header({"", "criterion", "verdict", "why"});
    out += row({std::string(analysis::meaningOf(result).markdown),
                fmt::format("**{}**<br>{}", markdownText(result.name), markdownText(criterion->text)),
                markdownText(report::markedVerdict(result)),
                fmt::format("{}", fmt::join(escaped(explanationOf(source, *criterion, result)), "<br>"))});
  }
  return out;
}

std::string cells(const Source& source) {
  std::string out;
  for (const auto& result : source.judgement.criteria) {
    const plan::Criterion* criterion = report::criterionOf(source.plan, result);
    if (!criterion || result.cells.empty()) continue;
    std::string lines;
    for (size_t i = 0; i < result.cells.size() && i < kMostRows; ++i)
      lines += fmt::format("- {} {}\n", analysis::meaningOf(result.cells[i].verdict).word,
                           markdownText(cellLine(source.plan, *criterion, result.cells[i])));
    const std::string interval = report::intervalTitle(*criterion, result);
    out += folded(markdownText(result.name) + ", cell by cell" + (interval == "interval" ? "" : ", " + interval + "s"),
                  lines + more(result.cells.size()));
  }
  return out;
}

std::string table(const Source& source, const std::string& subject, const std::vector<std::string>& by) {
  const report::Grid grid = report::buildGrid(source.plan, source.judgement, subject, by);
  if (grid.rows.empty()) return "";
  std::vector<std::string> names = escaped(grid.row_factors);
  for (const std::string& column : grid.columns)
    names.push_back(markdownText(grid.column_factor.empty() ? column : grid.column_factor + "=" + column));
  std::string out = header(names);
  for (size_t i = 0; i < grid.rows.size() && i < kMostRows; ++i) {
    std::vector<std::string> texts = escaped(grid.rows[i]);
    for (const report::GridCell& cell : grid.cells[i])
      texts.push_back(markdownText(report::cellText(cell, grid.unit, grid.dimension, " ")));
    out += row(texts);
  }
  return folded(markdownText(grid.subject + (grid.text.empty() ? "" : ": " + grid.text + ", 95 % intervals")),
                out + more(grid.rows.size()));
}

std::string study(const Source& source) {
  std::string out = fmt::format("### {}\n", markdownText(source.plan.study));
  if (!source.plan.doc.empty()) out += "\n" + markdownText(source.plan.doc) + "\n";
  if (source.judgement.null_cards) out += fmt::format("\n**Null cards:** {}\n", markdownText(report::kNullCardsNotice));
  out += verdicts(source) + cells(source);
  for (const plan::Table& one : source.plan.tables)
    if (one.shows == plan::Table::Shows::Values) out += table(source, one.subject, one.by);
  for (const plan::Comparison& one : source.plan.comparisons) out += table(source, one.name, one.factors);
  const auto missing = report::shortcomings(source.plan, source.judgement);
  if (!missing.empty()) out += "\n";
  for (size_t i = 0; i < missing.size() && i < kMostRows; ++i) out += "- " + markdownText(missing[i]) + "\n";
  out += more(missing.size());
  return out + fmt::format("\n<sub>{}</sub>\n", markdownText(report::repeatCommand(source.plan)));
}

}  // namespace

std::string markdownText(std::string_view text) {
  const std::string safe = report::html(text);  // first: it makes & and ; of its own
  std::string out;
  for (size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    if (c == '\n' || c == '\t')
      out += ' ';
    else if (std::string_view("\\`*_{}[]|~!$").find(c) != std::string_view::npos)
      out += fmt::format("&#{};", int(c));
    else if (c == '@' || c == ':' || (c == '#' && (i == 0 || safe[i - 1] != '&')))
      out += c == ':' && safe.compare(i, 3, "://") != 0 ? ":" : std::string(1, c) + "&#8203;";
    else
      out += c;
  }
  return out;
}

std::string markdown(const Document& document) {
  std::string out =
      fmt::format("### {} {}\n", analysis::meaningOf(document.outcome).markdown, markdownText(document.title));
  for (const Block& block : document.blocks) {
    std::string lines, rows;
    for (const Line& one : block.lines)
      lines += fmt::format("{:{}}- {}{}{}{}\n", "", 2 * one.depth, markdownText(one.word), one.word.empty() ? "" : " ",
                           one.of.empty() ? "" : "**" + markdownText(one.of) + "**: ", markdownText(one.text));
    for (size_t i = 0; i < block.rows.size() && i < kMostRows; ++i) rows += row(escaped(block.rows[i]));
    if (!rows.empty()) rows = "\n" + header(escaped(block.columns)) + rows + more(block.rows.size());
    if (block.rest.empty() && lines.empty()) continue;
    if (block.aside)
      out += folded(block.name, lines + rows);
    else
      out += fmt::format("\n**{}** {}\n\n{}{}", block.name, markdownText(block.rest), lines, rows);
  }
  return out;
}

std::string markdown(std::span<const Source> sources) {
  std::string out;
  for (const Source& source : sources) out += (out.empty() ? "" : "\n") + study(source);
  return out;
}

}  // namespace expc::exports
