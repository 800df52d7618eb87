// Words about bounds.

#include <fmt/format.h>

#include <string_view>

#include "runtime/plan/plan.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {

using plan::Relation;

std::string endText(const plan::Bound& bound) {
  llvm::StringRef text = bound.text;
  text.consume_front(base::wordOf(plan::words::kRelation, bound.relation));
  return text.ltrim().str();
}

std::string violation(const plan::Bound& bound) {
  static constexpr base::Word<Relation> kViolated[] = {
      {"below", Relation::GreaterEqual}, {"not above", Relation::Greater},  {"above", Relation::LessEqual},
      {"not below", Relation::Less},     {"not equal to", Relation::Equal}, {"outside", Relation::Within}};
  return fmt::format("{} {}", std::string_view(base::wordOf(kViolated, bound.relation)), endText(bound));
}

std::string boundText(const plan::Bound& bound) {
  static constexpr base::Word<Relation> kSaid[] = {
      {"at least", Relation::GreaterEqual}, {"more than", Relation::Greater}, {"at most", Relation::LessEqual},
      {"less than", Relation::Less},        {"exactly", Relation::Equal},     {"between", Relation::Within}};
  std::string ends = endText(bound);
  if (const size_t dots = ends.find(".."); dots != std::string::npos) ends.replace(dots, 2, " and ");
  return fmt::format("{} {}", std::string_view(base::wordOf(kSaid, bound.relation)), ends);
}

}  // namespace expc::report
