#include "compiler/parse/transform.h"

namespace expc::parse {

/// `index` is a type or a refinedType.
ast::TypeExpr Transform::type(uint32_t index) {
  const uint32_t plain = isRule(index, Rule::Type) ? index : child(index, Rule::Type);
  ast::TypeExpr out;
  if (const uint32_t tuple = child(plain, Rule::TupleType); tuple != kNone)
    tupleType(tuple, out);
  else if (const uint32_t record = child(plain, Rule::RecordType); record != kNone)
    recordType(record, out);
  else
    namedType(plain, out);
  out.range = range(index);
  if (const uint32_t within = child(index, Rule::Refinement); within != kNone) {
    if (out.refinement)
      duplicate(within, "the type's range", out.refinement->range);
    else
      out.refinement = expression(within);
  }
  return out;
}

/// `int`, `Images / Time`, `list(int)`.
void Transform::namedType(uint32_t index, ast::TypeExpr& out) {
  const std::vector<uint32_t> names = children(index, Rule::Name);
  out.name = qualifiedName(names[0]);
  for (size_t at = 1; at < names.size(); ++at) out.per.push_back(identifier(names[at]));
  const uint32_t element = child(index, Rule::RefinedType);
  if (element == kNone) return;
  if (text(names[0]) != "list") {
    reporter_.syntaxError(range(names[0]), "'list' before a type in brackets");
    return;
  }
  out.shape = ast::TypeExpr::Shape::List;
  out.parts.push_back(type(element));
}

/// Brackets around one type are that type; around several, or with a comma behind one, a tuple.
void Transform::tupleType(uint32_t index, ast::TypeExpr& out) {
  checkCommas(index, "a type");
  const std::vector<uint32_t> parts = children(index, Rule::RefinedType);
  if (!has(index, Token::Comma)) {
    out = type(parts[0]);
    return;
  }
  out.shape = ast::TypeExpr::Shape::Tuple;
  for (uint32_t part : parts) out.parts.push_back(type(part));
}

void Transform::recordType(uint32_t index, ast::TypeExpr& out) {
  checkCommas(index, "a field, such as 'rank : int',");
  out.shape = ast::TypeExpr::Shape::Record;
  for (uint32_t field : children(index, Rule::RecordField)) {
    out.fields.push_back(identifier(child(field, Rule::Word)));
    out.parts.push_back(type(child(field, Rule::RefinedType)));
  }
}

}  // namespace expc::parse
