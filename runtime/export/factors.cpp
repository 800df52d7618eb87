#include "runtime/export/factors.h"

namespace expc::exports {
namespace {

Type typeOf(const plan::Factor& factor) {
  Type type = Type::Integer;
  for (const plan::Level& level : factor.levels) {
    if (!level.value.getAsNumber()) return Type::Text;
    if (!level.value.getAsInteger()) type = Type::Real;
  }
  return factor.levels.empty() ? Type::Text : type;
}

/// What holds values of both.
Type common(Type first, Type second) {
  if (first == second) return first;
  return first == Type::Text || second == Type::Text ? Type::Text : Type::Real;
}

}  // namespace

Factors::Factors(std::span<const Source> sources) {
  for (const Source& source : sources)
    for (const plan::Factor& factor : source.plan.factors) {
      const auto [at, fresh] = at_.try_emplace(factor.name, columns_.size());
      if (fresh)
        columns_.push_back({"factor_" + factor.name, typeOf(factor), ""});
      else
        columns_[at->second].type = common(columns_[at->second].type, typeOf(factor));
    }
  for (Column& column : columns_)
    column.what = column.type == Type::Text
                      ? "the point's level, as the study writes it but without quotes; empty where it is not active"
                      : "the point's level in base units; empty where it is not active";
}

std::vector<Cell> Factors::cells(const plan::Plan& plan, const plan::Point& point) const {
  std::vector<Cell> cells(columns_.size());
  for (size_t i = 0; i < plan.factors.size() && i < point.levels.size(); ++i) {
    const auto at = at_.find(plan.factors[i].name);
    if (point.levels[i] == plan::kInactive || at == at_.end()) continue;
    const plan::Level& level = plan.factors[i].levels[point.levels[i]];
    Cell& cell = cells[at->second];
    switch (columns_[at->second].type) {
      case Type::Integer:
        cell = level.value.getAsInteger().value_or(0);
        break;
      case Type::Real:
        cell = level.value.getAsNumber().value_or(0);
        break;
      default:
        cell = std::string_view(level.value.getAsString().value_or(level.label));
    }
  }
  return cells;
}

}  // namespace expc::exports
