#include "compiler/check/errors.h"
#include "compiler/check/expression.h"

namespace expc::check {

const ast::Identifier* wordOf(const ast::Expr& expr) {
  auto* name = std::get_if<ast::NameExpr>(&expr.node);
  return name && name->name.parts.size() == 1 ? &name->name.parts[0] : nullptr;
}

std::string joined(const ast::QualifiedName& name, size_t first) {
  std::string text;
  for (size_t i = first; i < name.parts.size(); ++i) text += (i > first ? "." : "") + name.parts[i].name;
  return text;
}

void replaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

namespace errors {

std::string arguments(size_t count) {
  return count > 1 ? fmt::format("{} arguments", count) : count == 1 ? "one argument" : "no argument";
}

diag::Refusal seriesValue(diag::Emitter& emitter, source::Range range, std::string_view name, source::Range declared) {
  return emitter.build(range, SeriesValue, name)
      .note(declared, "read it with 'epochs_to({} >= …)', or compare it with 'max_gap({})'", name, name)
      .refuse();
}

}  // namespace errors
}  // namespace expc::check
