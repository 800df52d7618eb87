#include "runtime/export/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <variant>
#include <vector>

#include "runtime/analysis/meaning.h"
#include "runtime/export/sides.h"
#include "runtime/report/commands.h"
#include "runtime/report/document.h"
#include "runtime/report/html_text.h"
#include "runtime/report/remarks.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::exports {
namespace {

std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string header(const std::vector<std::string>& cells) {
  return row(cells) + row(std::vector<std::string>(cells.size(), "---"));
}

std::string more(size_t all, size_t shown) { return all > shown ? fmt::format("\n… and {} more\n", all - shown) : ""; }

/// What readers may open; a blank line makes Markdown of what is inside.
std::string folded(const std::string& title, const std::string& rest, const std::string& body) {
  return body.empty() ? ""
                      : fmt::format("\n<details><summary>{}{}</summary>\n\n{}\n</details>\n", markdownText(title),
                                    rest.empty() ? "" : ": " + markdownText(rest), body);
}

std::string sentence(const report::Paragraph& one) {
  const std::string of = one.of.empty() ? "" : "**" + markdownText(one.of) + "**";
  return fmt::format("{}{}{}{}{}", markdownText(one.word), one.word.empty() ? "" : " ", of,
                     of.empty() || one.text.empty() ? "" : ": ", markdownText(one.text));
}

/// Blocks of a report in Markdown.
class MarkdownRenderer {
 public:
  std::string operator()(const report::Paragraph& paragraph) const {
    return paragraph.shown == report::Shown::OnPage ? "" : sentence(paragraph) + "\n\n";
  }

  std::string operator()(const report::Described& block) const {
    std::string out;
    if (!block.title.empty())
      out = fmt::format("\n{}{}:\n\n", markdownText(block.title),
                        block.rest.empty() ? "" : " (" + markdownText(block.rest) + ")");
    for (const report::Paragraph& one : block.lines)
      out += fmt::format("{:{}}- {}\n", "", 2 * one.depth, sentence(one));
    return block.lines.empty() ? out : out + "\n";
  }

  std::string operator()(const report::Table& table) const {
    const auto texts = [&](const auto& text_of) {
      std::vector<std::string> shown;
      for (size_t i = 0; i < table.columns.size(); ++i)
        if (table.columns[i].shown != report::Shown::OnPage) shown.push_back(markdownText(text_of(i)));
      return shown;
    };
    std::string out = header(texts([&](size_t i) { return table.heading(table.columns[i]); }));
    for (size_t r = 0; r < table.rows.size() && r < report::kMostInMarkdown; ++r)
      out += row(texts([&](size_t i) { return table.rows[r].cells[i].inText(" "); }));
    return table.rows.empty() ? "" : out + more(table.all, report::kMostInMarkdown);
  }

  std::string operator()(const report::Figures&) const { return ""; }

  std::string operator()(const report::Part& part) const {
    return folded(part.title, part.about(), (*this)(part.blocks));
  }

  std::string operator()(const std::vector<report::Block>& blocks) const {
    std::string out;
    for (const report::Block& block : blocks)
      out += std::visit(*this, static_cast<const report::Block::variant&>(block));
    return out;
  }
};

std::string verdicts(const Source& source) {
  std::string out;
  for (const auto& result : source.judgement.criteria) {
    const plan::Criterion* criterion = report::criterionOf(source.plan, result);
    if (!criterion) continue;
    std::string explanation;
    for (const report::VerdictLine& line :
         report::verdictLines(source.plan, source.judgement, source.results, *criterion, result))
      explanation += (explanation.empty() ? "" : "<br>") + markdownText(line.label + ": " + line.text);
    if (out.empty()) out = "\n" + header({"", "criterion", "verdict", "why"});
    out += row({std::string(analysis::meaningOf(result).markdown),
                fmt::format("**{}**<br>{}", markdownText(result.name), markdownText(criterion->text)),
                markdownText(report::markedVerdict(result)), explanation});
  }
  return out;
}

std::string study(const Source& source) {
  std::string out = fmt::format("### {}\n", markdownText(source.plan.study));
  if (!source.plan.doc.empty()) out += "\n" + markdownText(source.plan.doc) + "\n";
  if (source.judgement.null_cards) out += fmt::format("\n**Null cards:** {}\n", markdownText(report::kNullCardsNotice));
  out += verdicts(source);
  std::vector<report::Block> blocks;
  for (const auto& result : source.judgement.criteria)
    if (const plan::Criterion* criterion = report::criterionOf(source.plan, result))
      blocks.emplace_back(report::Part{.title = result.name + ", cell by cell",
                                       .blocks = {report::criterionCells(source.plan, *criterion, result)}});
  for (const plan::Table& one : source.plan.tables)
    blocks.push_back(report::tableBlock(source.plan, source.judgement, one));
  for (report::Block& comparison : report::comparisonParts(source.plan, source.judgement))
    blocks.push_back(std::move(comparison));
  for (report::Described& missing : report::missingRemarks(source.plan, source.judgement, source.results))
    blocks.emplace_back(std::move(missing));
  out += MarkdownRenderer()(blocks);
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
  for (const report::Part& part : partsOf(document))
    out += part.folded
               ? MarkdownRenderer()(part)
               : fmt::format("\n**{}** {}\n\n{}", part.title, markdownText(part.rest), MarkdownRenderer()(part.blocks));
  return out;
}

std::string markdown(std::span<const Source> sources) {
  std::string out;
  for (const Source& source : sources) out += (out.empty() ? "" : "\n") + study(source);
  return out;
}

}  // namespace expc::exports
