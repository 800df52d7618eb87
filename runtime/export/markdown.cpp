// Markdown for pull requests, of reports and of comparisons. Every text is escaped, since names and reasons may come
// from a stranger's study or program: it must not ping people, link, or break out of a table. Long parts are folded in
// <details>, and tables are cut at report::kMostInMarkdown rows.

#include <fmt/ranges.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/base/text.h"
#include "runtime/export/formats.h"
#include "runtime/export/sides.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/answer.h"
#include "runtime/report/commands.h"
#include "runtime/report/document.h"
#include "runtime/report/html_text.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::exports {
namespace {

/// Returns a row of a table, and the header with its rule.
std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string header(const std::vector<std::string>& cells) {
  return row(cells) + row(std::vector<std::string>(cells.size(), "---"));
}

/// Returns the line that says how many rows are left out; "" if none are.
std::string more(size_t all, size_t shown) { return all > shown ? fmt::format("\n… and {} more\n", all - shown) : ""; }

/// Returns a part that readers can open. The blank line after <summary> makes the body Markdown again.
std::string folded(const std::string& title, const std::string& rest, const std::string& body) {
  return body.empty() ? ""
                      : fmt::format("\n<details><summary>{}{}</summary>\n\n{}\n</details>\n", markdownText(title),
                                    base::framed(": ", markdownText(rest)), body);
}

/// Renders blocks of a report: sentences become a list, tables are folded, figures are left out.
class MarkdownRenderer {
 public:
  std::string operator()(const report::Paragraph& one) const {
    if (one.shown == report::Shown::OnPage) return "";
    const std::string of = one.of.empty() ? "" : "**" + markdownText(one.of) + "**";
    return fmt::format("{:{}}- {}{}{}{}{}\n", "", 2 * one.depth, markdownText(one.word), one.word.empty() ? "" : " ",
                       of, of.empty() || one.text.empty() ? "" : ": ", markdownText(one.text));
  }

  std::string operator()(const report::Facts& facts) const {
    std::string out;
    for (const report::Fact& one : facts.facts) out += "- " + markdownText(one.label + ": " + one.text) + "\n";
    return out;
  }

  std::string operator()(const report::Table& table) const {
    const auto texts = [&](const auto& text_of) {
      std::vector<std::string> shown;
      for (size_t i = 0; i < table.columns.size(); ++i)
        // Columns for the page alone are left out, as on a terminal.
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
    const std::string body = (*this)(part.blocks);
    if (!std::ranges::all_of(part.blocks, isSentence)) return folded(part.title, part.about(), body);
    return fmt::format("\n{}{}:\n\n{}", markdownText(part.title), base::framed(" (", markdownText(part.rest), ")"),
                       body);
  }

  std::string operator()(const std::vector<report::Block>& blocks) const {
    std::string out;
    for (size_t i = 0; i < blocks.size(); ++i) {
      out += std::visit(*this, static_cast<const report::Block::variant&>(blocks[i]));
      if (isSentence(blocks[i]) && (i + 1 == blocks.size() || !isSentence(blocks[i + 1]))) out += '\n';
    }
    return out;
  }

 private:
  /// Whether a block is a line of a list, which must not be separated by blank lines.
  static bool isSentence(const report::Block& block) { return std::holds_alternative<report::Paragraph>(block); }
};

/// Returns the table of verdicts with the facts behind them, or with `brief` their results alone; "" if the study has
/// no criterion.
std::string verdicts(const Source& source, bool brief) {
  std::string out;
  for (const report::Judged& judged : report::judgedOf(source.plan, source.judgement)) {
    // A cell of Markdown has one line, so facts are separated by <br>.
    std::string explanation;
    for (const report::Fact& one : report::verdictFacts(source.findings(), judged))
      if (!brief || one.label == "result")
        explanation += (explanation.empty() ? "" : "<br>") + markdownText(one.label + ": " + one.text);
    if (out.empty()) out = "\n" + header({"", "criterion", "verdict", "why"});
    out += row({std::string(judge::meaningOf(judged.result).markdown),
                fmt::format("**{}**<br>{}", markdownText(judged.result.name), markdownText(judged.criterion.text)),
                markdownText(report::markedVerdict(judged.result)), explanation});
  }
  return out;
}

/// Returns the summary of one study, verdicts first. Its end is left out where it would not fit into `most` bytes; 0:
/// no limit.
std::string study(const Source& source, size_t most) {
  std::string out = fmt::format("### {}\n", markdownText(source.plan.study));
  if (!source.plan.doc.empty()) out += "\n" + markdownText(source.plan.doc) + "\n";
  if (source.judgement.null_cards)
    out += fmt::format("\n**Simulated GPUs:** {}\n", markdownText(report::kNullCardsNotice));
  const report::Answer answer = report::answerOf(source.findings());
  out += fmt::format("\n{}\n", markdownText(answer.text()));
  // Half of the room is for the tables below.
  const std::string whole = verdicts(source, false);
  out += most == 0 || out.size() + whole.size() < most / 2 ? whole : verdicts(source, true);
  if (const std::string sessions = report::sessionsNotice(source.plan, source.judgement);
      !answer.says_sessions && !sessions.empty())
    out += "\n" + markdownText(sessions) + "\n";
  std::vector<report::Block> blocks;
  for (const report::Judged& judged : report::judgedOf(source.plan, source.judgement))
    blocks.emplace_back(report::Part{.title = fmt::format("{}, cell by cell", judged.result.name),
                                     .blocks = {report::criterionCells(judged)}});
  append(blocks, report::tableBlocks(source.plan, source.judgement, source.plan.tables));
  append(blocks, report::comparisonParts(source.plan, source.judgement));
  append(blocks, report::missingRemarks(source.findings()));
  const std::string command = fmt::format("\n<sub>{}</sub>\n", markdownText(report::repeatCommand(source.plan)));
  std::string tables = MarkdownRenderer()(blocks);
  size_t left_out = 0;
  // The line that counts what is left out takes less than this.
  constexpr size_t kLine = 120;
  while (most > 0 && !blocks.empty() && out.size() + tables.size() + command.size() + kLine > most) {
    blocks.pop_back();
    ++left_out;
    tables = MarkdownRenderer()(blocks);
  }
  if (left_out > 0)
    tables += fmt::format("\n{} left out, since a comment has its limit; the page has all.\n",
                          base::counted(left_out, "part"));
  return out + tables + command;
}

}  // namespace

std::string markdownText(std::string_view text) {
  // HTML is escaped first, since that adds & and ; of its own; # behind & belongs to such an escape.
  const std::string safe = report::html(text);
  std::string out;
  for (size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    if (c == '\n' || c == '\t')
      out += ' ';
    else if (std::string_view("\\`*_{}[]|~!$").find(c) != std::string_view::npos)
      out += fmt::format("&#{};", int(c));
    else if (c == '@' || c == ':' || (c == '#' && (i == 0 || safe[i - 1] != '&')))
      // A zero-width space breaks a mention, an issue or an address without changing its look.
      out += c == ':' && safe.compare(i, 3, "://") != 0 ? ":" : std::string(1, c) + "&#8203;";
    else
      out += c;
  }
  return out;
}

std::string markdown(const Document& document) {
  std::string out =
      fmt::format("### {} {}\n", judge::meaningOf(document.outcome).markdown, markdownText(document.title));
  for (const report::Part& part : partsOf(document)) {
    const std::string body = MarkdownRenderer()(part.blocks);
    out += part.folded ? folded(part.title, part.rest, body)
                       : fmt::format("\n**{}** {}\n\n{}", part.title, markdownText(part.rest), body);
  }
  return out;
}

std::string markdown(std::span<const Source> sources, size_t most) {
  std::string out;
  for (const Source& source : sources)
    out += (out.empty() ? "" : "\n") + study(source, most / std::max<size_t>(sources.size(), 1));
  return out;
}

}  // namespace expc::exports
