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

}  // namespace expc::check
