// Lists, tuples and records in expressions.

#include "compiler/check/errors.h"
#include "compiler/check/expression.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(WrongArguments, Error, "the record has no value for '{0}'");

}  // namespace

/// `lora.rank`, a part of a record.
FormulaPtr Expressions::field(const ast::NameExpr& name, source::Range range, const Place& place) {
  const auto& parts = name.name.parts;
  ast::NameExpr first{{{parts[0]}, parts[0].range}};
  FormulaPtr record = this->name(first, parts[0].range, place, nullptr);
  for (size_t i = 1; i < parts.size(); ++i) {
    if (record->type.isError()) return error();
    if (record->type.kind != Type::Kind::Record)
      return error(emitter_.refuse(parts[i].range, errors::TypeMismatch, "what stands before '.'",
                                   "a module or a record", record->type.name()));
    const CompositeType& type = *record->type.composite;
    const int found = findNamed(type.fields, parts[i].name);
    if (found < 0) return error(unknownName(emitter_, "field", parts[i], namesOf(type.fields)));
    const auto part = static_cast<unsigned>(found);
    record = make(Formula::Op::Field, type.parts[part], range, {record}, part);
  }
  return record;
}

/// A list or a tuple. Where nothing says what its elements are, the first one does.
FormulaPtr Expressions::sequence(const std::vector<ast::ExprPtr>& elements, source::Range range, const Place& place,
                                 const Type* expected, bool tuple) {
  bool fits = expected && expected->kind == (tuple ? Type::Kind::Tuple : Type::Kind::List);
  Formula formula = formulaOf(Formula::Op::Sequence, Type::error(), range);
  formula.constant = {CompositeValue{tuple ? Type::Kind::Tuple : Type::Kind::List, {}, {}}};
  std::vector<Type> types;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Type* wanted = nullptr;
    if (fits && !tuple) wanted = &expected->composite->parts[0];
    if (fits && tuple && i < expected->composite->parts.size()) wanted = &expected->composite->parts[i];
    if (!fits && !tuple && !types.empty()) wanted = &types[0];
    FormulaPtr element = build(*elements[i], place, wanted);
    std::string_view what = tuple ? "this part of the tuple" : "an element of the list";
    if (element->type.isError() || (wanted && !this->fits(*element, *wanted, what))) return error();
    types.push_back(wanted ? *wanted : element->type);
    formula.operands.push_back(std::move(element));
  }
  if (!tuple && types.empty() && !fits)
    return error(emitter_.refuse(range, errors::NotAValue, "an empty list of unknown type"));
  formula.type = tuple ? Type::tuple(std::move(types)) : fits ? *expected : Type::list(types[0]);
  return make(std::move(formula));
}

FormulaPtr Expressions::record(const std::vector<ast::CallArgument>& fields, source::Range range, const Place& place,
                               const Type* expected) {
  if (!expected || expected->kind != Type::Kind::Record)
    return error(emitter_.refuse(range, errors::NotAValue, "a record"));
  const CompositeType& type = *expected->composite;
  Formula formula = formulaOf(Formula::Op::Sequence, *expected, range, std::vector<FormulaPtr>(type.fields.size()));
  formula.constant = {CompositeValue{Type::Kind::Record, type.fields, {}}};
  for (const ast::CallArgument& field : fields) {
    const int found = findNamed(type.fields, field.name->name);
    if (found < 0) return error(unknownName(emitter_, "field", *field.name, namesOf(type.fields)));
    const auto index = static_cast<size_t>(found);
    if (formula.operands[index])
      return error(duplicateName(emitter_, "field", *field.name, formula.operands[index]->range));
    FormulaPtr value = build(*field.value, place, &type.parts[index]);
    if (value->type.isError() || !fits(*value, type.parts[index], fmt::format("'{}'", field.name->name)))
      return error();
    formula.operands[index] = std::move(value);
  }
  for (size_t i = 0; i < formula.operands.size(); ++i)
    if (!formula.operands[i]) return error(emitter_.refuse(range, WrongArguments, type.fields[i]));
  return make(std::move(formula));
}

}  // namespace expc::check
