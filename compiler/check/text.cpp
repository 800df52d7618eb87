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

}  // namespace expc::check
