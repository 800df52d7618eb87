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

std::string squeeze(std::string_view text) {
  std::string result;
  bool blank = false, quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (!quoted && c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n') ++i;
      blank = true;
      continue;
    }
    if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      blank = true;
      continue;
    }
    if (blank && !result.empty()) result += ' ';
    blank = false;
    result += c;
    if (quoted && c == '\\' && i + 1 < text.size()) {
      result += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    }
  }
  return result;
}

}  // namespace expc::check
