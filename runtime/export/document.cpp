#include "runtime/export/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/meaning.h"
#include "runtime/plan/json.h"
#include "runtime/report/document.h"
#include "runtime/report/layout.h"

namespace expc::exports {
namespace {

class Printer : report::TerminalText {
 public:
  Printer(unsigned width, bool colour) : TerminalText(width, colour), columns_(width) {}

  std::string print(const Document& document) {
    out_ += paint_.bold(report::printable(document.title)) + '\n';
    for (const Block& block : document.blocks) {
      if (block.rest.empty() && block.lines.empty()) continue;
      section(block.name, report::printable(block.rest));
      for (const Line& one : block.lines) print(one);
      print(block.columns, block.rows);
    }
    return std::move(out_);
  }

 private:
  void print(const Line& one) {
    const std::string word = report::printable(one.word), of = report::printable(one.of);
    const unsigned indent = 2 + 4 * one.depth;
    line((one.style.empty() ? word : (paint_.*report::Paint::of(one.style))(word)) + ' ' + paint_.bold(of) +
             (of.empty() ? "" : ": ") + report::printable(one.text),
         indent, indent + 4);
  }
  void print(const std::vector<std::string>& columns, const std::vector<std::vector<std::string>>& rows) {
    if (rows.empty()) return;
    report::TextTable table(columns, 2);
    table.words({columns.size() - 1});
    for (size_t i = 0; i < rows.size() && i < report::kMostInMarkdown; ++i) {
      std::vector<std::string> row = rows[i];
      std::ranges::transform(row, row.begin(), report::printable);
      table.add(std::move(row));
    }
    out_ += table.render(columns_, 2, paint_);
    if (rows.size() > report::kMostInMarkdown)
      line(fmt::format("… and {} more; --format json has all", rows.size() - report::kMostInMarkdown), 2, 4);
  }

  const unsigned columns_;
};

}  // namespace

Document::Document(const plan::Plan& plan, const std::vector<std::string>& sides, analysis::Verdict outcome)
    : title("study " + plan.study + ": "),
      outcome(outcome),
      exit_code(analysis::meaningOf(outcome).exit_code),
      json{{"schema", "expc.compare/2"},
           {"study", plan::jsonText(plan.study)},
           {"sides", plan::jsonTexts(sides)},
           {"outcome", std::string(toString(outcome))}} {}

std::string text(const Document& document, unsigned width, bool colour) {
  return Printer(width, colour).print(document);
}

llvm::json::Value json(Document document) {
  for (Block& block : document.blocks) document.json[block.name] = std::move(block.json);
  return std::move(document.json);
}

}  // namespace expc::exports
