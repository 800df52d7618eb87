#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/analysis/format.h"
#include "runtime/analysis/meaning.h"
#include "runtime/export/markdown.h"
#include "runtime/export/sides.h"
#include "runtime/export/table.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"
#include "runtime/report/result_json.h"
#include "runtime/report/verdict_text.h"

namespace expc::exports {
namespace {

constexpr size_t kMostRows = 40;

/// What moved, regressions first, then by how sure it is, and what lies apart in these sessions.
std::vector<const analysis::Shift*> movedOf(const SidesView& view) {
  std::vector<const analysis::Shift*> moved;
  for (const analysis::Shift& shift : view.sides.shifts)
    if (shift.moved || shift.apart) moved.push_back(&shift);
  std::stable_sort(moved.begin(), moved.end(), [&](const analysis::Shift* a, const analysis::Shift* b) {
    const auto rank = [&](const analysis::Shift& one) {
      return std::tuple(!isRegression(view, one), one.apart, one.p);
    };
    return rank(*a) < rank(*b);
  });
  return moved;
}

std::string wayOf(const SidesView& view, const analysis::Shift& shift) {
  if (shift.apart) return "undecided";
  if (!shift.worse) return "";
  if (!*shift.worse) return "better";
  return isRegression(view, shift) || view.margin == 0 ? "worse" : "worse, within the margin";
}

std::vector<std::string> rowOf(const SidesView& view, const analysis::Shift& shift) {
  const auto value = [&](const std::optional<double>& one) {
    return one ? analysis::formatQuantity(*one, shift.unit, shift.dimension) : std::string("–");
  };
  return {shift.subject,      shift.label,       value(shift.before),
          value(shift.after), changeText(shift), fmt::format("{}, {}", shift.before_n, shift.after_n),
          wayOf(view, shift)};
}

const std::vector<std::string> kColumns = {"what", "where", "before", "after", "change", "n", ""};

/// "3 of 24 moved (Holm over 24 at 95 %); 4 could not have been found to move with so few values".
std::string summary(const SidesView& view) {
  const auto& shifts = view.sides.shifts;
  const auto moved = std::count_if(shifts.begin(), shifts.end(), [](const auto& shift) { return shift.moved; });
  const auto apart = std::count_if(shifts.begin(), shifts.end(), [](const auto& shift) { return shift.apart; });
  const auto few = std::count_if(shifts.begin(), shifts.end(), [](const auto& shift) { return !shift.tellable; });
  std::string text = fmt::format("{} of {} moved", moved, shifts.size());
  if (view.sides.tested > 0)
    text += fmt::format(" (Holm over {} at {})", view.sides.tested, analysis::formatConfidence(analysis::kConfidence));
  if (apart > 0) text += fmt::format("; {} undecided: apart in these sessions, by no more than sessions may be", apart);
  if (few > 0) text += fmt::format("; {} could not have been found to move with so few values", few);
  if (view.sides.only_before + view.sides.only_after > 0)
    text += fmt::format("; measured before alone: {}, after alone: {}", view.sides.only_before, view.sides.only_after);
  return text;
}

class SidesPrinter : report::TerminalText {
 public:
  SidesPrinter(const SidesView& view, unsigned width, bool colour)
      : TerminalText(width, colour), view_(view), columns_(width) {}

  std::string print() {
    out_ += paint_.bold(fmt::format("study {}: {} → {}", report::printable(view_.plan.study),
                                    report::printable(view_.before.name), report::printable(view_.after.name))) +
            '\n';
    for (const Difference& one : differences(view_))
      line(fmt::format("{}: {} → {}", one.what, report::printable(one.before), report::printable(one.after)), 2, 6);
    printVerdicts();
    const auto missing = missingOf(view_);
    if (!missing.empty()) section("missing", "what cannot be compared, or fails after");
    for (const analysis::Missing& one : missing) {
      const std::string text = report::printable(report::missingText(one));
      line(one.verdict == analysis::Verdict::Broken ? paint_.red(text) : paint_.yellow(text), 2, 6);
    }
    section("values", summary(view_));
    printMoved();
    section("scope");
    for (const std::string& one : scopeOf(view_)) line(one, 2, 4);
    return std::move(out_);
  }

 private:
  void printVerdicts() {
    const auto pairs = verdictPairs(view_);
    if (pairs.empty()) return;
    const auto changed = std::count_if(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.changed; });
    section("verdicts", fmt::format("{} of {} changed", changed, pairs.size()));
    for (const VerdictPair& pair : pairs) {
      const std::string words = pair.changed ? pair.before + " → " + pair.after : pair.after;
      line((pair.lost      ? paint_.red(words)
            : pair.changed ? paint_.yellow(words)
                           : words) +
               "  " + paint_.bold(report::printable(pair.name)) + ": " + report::printable(pair.text),
           2, 6);
      if (pair.changed && !pair.why.empty()) line(report::printable(pair.why), 6, 6);
    }
  }
  void printMoved() {
    const auto moved = movedOf(view_);
    if (moved.empty()) return;
    report::TextTable table(kColumns, 2);
    table.words({6});
    for (size_t i = 0; i < moved.size() && i < kMostRows; ++i) {
      std::vector<std::string> row = rowOf(view_, *moved[i]);
      for (std::string& text : row) text = report::printable(text);
      table.add(std::move(row));
    }
    out_ += table.render(columns_, 2, paint_);
    if (moved.size() > kMostRows)
      line(fmt::format("… and {} more; --format json has all", moved.size() - kMostRows), 2, 4);
  }

  const SidesView& view_;
  const unsigned columns_;
};

std::string tableRow(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string tableHead(const std::vector<std::string>& cells) {
  return "\n" + tableRow(cells) + tableRow(std::vector<std::string>(cells.size(), "---"));
}

llvm::json::Value number(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (std::isfinite(*value)) return *value;
  return *value > 0 ? "inf" : "-inf";
}

llvm::json::Value shiftJson(const SidesView& view, const analysis::Shift& shift) {
  return llvm::json::Object{{"subject", plan::jsonText(shift.subject)},
                            {"label", plan::jsonText(shift.label)},
                            {"comparison", shift.comparison},
                            {"unit", plan::jsonText(shift.unit)},
                            {"before", number(shift.before)},
                            {"after", number(shift.after)},
                            {"before_n", shift.before_n},
                            {"after_n", shift.after_n},
                            {"by", shift.ratio ? "ratio" : "difference"},
                            {"estimate", number(shift.estimate)},
                            {"low", number(shift.interval ? std::optional(shift.interval->low) : std::nullopt)},
                            {"high", number(shift.interval ? std::optional(shift.interval->high) : std::nullopt)},
                            {"p", shift.p},
                            {"moved", shift.moved},
                            {"tellable", shift.tellable},
                            {"by_session", shift.by_session},
                            {"undecided", isOpen(view, shift)},
                            {"worse", shift.worse ? llvm::json::Value(*shift.worse) : llvm::json::Value(nullptr)},
                            {"regression", isRegression(view, shift)}};
}

}  // namespace

std::string sidesText(const SidesView& view, unsigned width, bool colour) {
  return SidesPrinter(view, width, colour).print();
}

std::string sidesMarkdown(const SidesView& view) {
  const auto escaped = [](std::vector<std::string> texts) {
    std::transform(texts.begin(), texts.end(), texts.begin(), markdownText);
    return texts;
  };
  std::string out =
      fmt::format("### {} {}: {} → {}\n", analysis::meaningOf(outcomeOf(view)).markdown, markdownText(view.plan.study),
                  markdownText(view.before.name), markdownText(view.after.name));
  const auto pairs = verdictPairs(view);
  if (!pairs.empty()) out += tableHead({"criterion", "before", "after", "why"});
  for (const VerdictPair& pair : pairs)
    out += tableRow(escaped({pair.name, pair.before, pair.after, pair.changed ? pair.why : ""}));
  out += "\n";
  for (const analysis::Missing& one : missingOf(view))
    out += fmt::format("- {} {}\n", analysis::meaningOf(one.verdict).markdown, markdownText(report::missingText(one)));
  out += "\n" + markdownText(summary(view)) + "\n";
  const auto moved = movedOf(view);
  if (!moved.empty()) out += tableHead(kColumns);
  for (size_t i = 0; i < moved.size() && i < kMostRows; ++i) out += tableRow(escaped(rowOf(view, *moved[i])));
  if (moved.size() > kMostRows) out += fmt::format("\n… and {} more\n", moved.size() - kMostRows);
  out += "\n<details><summary>what differs, and what this can be taken for</summary>\n\n";
  for (const Difference& one : differences(view))
    out += fmt::format("- {}: {} → {}\n", one.what, markdownText(one.before), markdownText(one.after));
  for (const std::string& one : scopeOf(view)) out += "- " + markdownText(one) + "\n";
  return out + "\n</details>\n";
}

llvm::json::Value sidesJson(const SidesView& view) {
  llvm::json::Array verdicts, shifts, differing;
  for (const VerdictPair& pair : verdictPairs(view))
    verdicts.push_back(llvm::json::Object{{"name", plan::jsonText(pair.name)},
                                          {"text", plan::jsonText(pair.text)},
                                          {"before", pair.before},
                                          {"after", pair.after},
                                          {"changed", pair.changed},
                                          {"lost", pair.lost},
                                          {"why", plan::jsonText(pair.why)}});
  const analysis::Verdict outcome = outcomeOf(view);
  for (const analysis::Shift& shift : view.sides.shifts) shifts.push_back(shiftJson(view, shift));
  for (const Difference& one : differences(view))
    differing.push_back(llvm::json::Object{
        {"what", one.what}, {"before", plan::jsonText(one.before)}, {"after", plan::jsonText(one.after)}});
  return llvm::json::Object{{"schema", "expc.compare/1"},
                            {"study", plan::jsonText(view.plan.study)},
                            {"before", plan::jsonText(view.before.name)},
                            {"after", plan::jsonText(view.after.name)},
                            {"margin", view.margin},
                            {"worse", outcome == analysis::Verdict::Fail || outcome == analysis::Verdict::Broken},
                            {"outcome", std::string(toString(outcome))},
                            {"missing", report::missingJson(missingOf(view))},
                            {"verdicts", std::move(verdicts)},
                            {"shifts", std::move(shifts)},
                            {"tested", view.sides.tested},
                            {"differences", std::move(differing)},
                            {"scope", plan::jsonTexts(scopeOf(view))}};
}

}  // namespace expc::exports
