// Words about bounds, and about how many configurations meet one.

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {

using plan::Relation;

std::string endText(const plan::Bound& bound, std::string_view dimension) {
  StringRef text = bound.text;
  text.consume_front(base::wordOf(plan::words::kRelation, bound.relation));
  std::string end = text.ltrim().str();
  // A difference of shares is a number of points: "2%" could be read as a ratio.
  if (dimension == base::kPoints && end.ends_with('%')) {
    end.replace(end.size() - 1, 1, " points");
    if (const size_t low = end.find("%.."); low != std::string::npos) end.erase(low, 1);
  }
  return end;
}

std::string violation(const plan::Bound& bound, std::string_view dimension) {
  static constexpr base::Word<Relation> kViolated[] = {
      {"below", Relation::GreaterEqual}, {"not above", Relation::Greater},  {"above", Relation::LessEqual},
      {"not below", Relation::Less},     {"not equal to", Relation::Equal}, {"outside", Relation::Within}};
  return fmt::format("{} {}", std::string_view(base::wordOf(kViolated, bound.relation)), endText(bound, dimension));
}

std::string boundText(const plan::Bound& bound, std::string_view dimension) {
  static constexpr base::Word<Relation> kSaid[] = {
      {"at least", Relation::GreaterEqual}, {"more than", Relation::Greater}, {"at most", Relation::LessEqual},
      {"less than", Relation::Less},        {"exactly", Relation::Equal},     {"between", Relation::Within}};
  std::string ends = endText(bound, dimension);
  const size_t dots = ends.find("..");
  if (bound.relation == Relation::Within && dots == std::string::npos) return "within " + ends;
  if (dots != std::string::npos) ends.replace(dots, 2, " and ");
  return fmt::format("{} {}", std::string_view(base::wordOf(kSaid, bound.relation)), ends);
}

Bounds boundsOf(const plan::Bound& bound) {
  Bounds bounds{plan::ends(bound)};
  const std::string text = endText(bound);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  StringRef unit(rest, size_t(text.data() + text.size() - rest));
  unit = unit.take_front(unit.find("..")).trim();
  // An expression such as "2 * 40GB" has no one unit.
  const bool plain = llvm::all_of(unit, [](char c) { return llvm::isAlpha(c) || c == '/' || c == '%'; });
  if (error == std::errc() && plain && bound.low / number > 0) bounds.unit = {bound.low / number, unit.str()};
  return bounds;
}

std::string referenceOf(const Criterion& criterion) {
  const auto [_, reference] = StringRef(criterion.text).split(" like ");
  return reference.empty() ? "the published values" : reference.split(' ').first.str();
}

std::string inConfigurations(size_t count, size_t all) {
  if (all < 2) return "";
  if (count < all) return fmt::format(" in {} of {} configurations", count, all);
  return all == 2 ? " in both configurations" : fmt::format(" in all {} configurations", all);
}

std::string sentence(const std::string& text) {
  if (text.empty()) return "";
  // A label such as precision=fp32 stays as it is.
  const bool label = text.find('=') < text.find(' ');
  const std::string whole = label ? text : capitalised(text);
  return StringRef(".!?").contains(whole.back()) ? whole : whole + ".";
}

}  // namespace expc::report
