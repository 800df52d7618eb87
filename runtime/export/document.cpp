#include "runtime/export/document.h"

#include <fmt/format.h>

#include "runtime/analysis/meaning.h"
#include "runtime/plan/json.h"
#include "runtime/report/document_text.h"
#include "runtime/report/layout.h"

namespace expc::exports {
namespace {

class Printer : report::DocumentText {
 public:
  Printer(unsigned width, bool colour) : DocumentText(width, colour) {}

  std::string print(const Document& document) {
    out_ += paint_.bold(report::printable(document.title)) + '\n';
    for (const Block& block : document.blocks) {
      if (block.rest.empty() && block.lines.empty()) continue;
      section(block.name, report::printable(block.rest));
      for (const Line& one : block.lines) print(one);
      show(block.table, 2);
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
