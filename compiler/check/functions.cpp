// What makes a value of others. `choose(condition, value, …, otherwise)`: the value after the first condition that
// holds. `max(value, …)`, `min(value, …)`. Functions of estimates whose value stands in files. Lists, tuples, records.

#include <algorithm>

#include "compiler/check/expression.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MisplacedLookup, Error, "'{0}' reads files, which only an estimate may do");
EXPC_DIAGNOSTIC(WrongArguments, Error, "the record has no value for '{0}'");

}  // namespace

bool Expressions::takes(const ast::CallExpr& call, source::Range range, bool fits, std::string_view number,
                        std::string_view each) {
  const std::string& word = call.callee.parts[0].name;
  if (!fits) emitter_.emit(range, errors::WrongArguments, word, number, errors::arguments(call.arguments.size()));
  for (const ast::CallArgument& argument : call.arguments)
    if (fits && argument.name) {
      const std::string found = fmt::format("'{} = …'", argument.name->name);
      return emitter_.refuse(argument.name->range, errors::WrongArguments, word, each, found);
    }
  return fits;
}

bool Expressions::alike(const Formula& value, const Formula*& first, Type& type, std::string_view word) {
  if (value.type.isError()) return false;
  if (!first) type = value.type;
  if (!first) first = &value;
  if (!value.type.agreesWith(type))
    return emitter_
        .build(value.range, errors::UnitMismatch, fmt::format("the first value of '{}'", word), type.name(), "this one",
               value.type.name())
        .note(first->range, "the first value")
        .refuse();
  type.whole = type.whole && value.type.whole;
  return true;
}

FormulaPtr Expressions::choose(const ast::CallExpr& call, source::Range range, const Place& place,
                               const Type* expected) {
  const size_t count = call.arguments.size();
  if (!takes(call, range, count >= 3 && count % 2 == 1,
             "a condition and a value, more of these, and a value at the end", "conditions and values in their order"))
    return error();
  std::vector<FormulaPtr> parts;
  const Formula* first = nullptr;
  Type type;
  bool good = true;
  for (size_t i = 0; i < count; ++i) {
    const ast::Expr& part = *call.arguments[i].value;
    const bool test = i % 2 == 0 && i + 1 < count;
    parts.push_back(test ? condition(part, place, "a condition of 'choose'")
                         : build(part, place, first ? &type : expected));
    good &= test ? parts.back() != nullptr : alike(*parts.back(), first, type, "choose");
  }
  return good ? make(Formula::Op::Choose, type, range, std::move(parts)) : error();
}

FormulaPtr Expressions::extreme(const ast::CallExpr& call, source::Range range, const Place& place) {
  const std::string& word = call.callee.parts[0].name;
  if (!takes(call, range, call.arguments.size() > 1, "two numbers or more", "numbers")) return error();
  std::vector<FormulaPtr> values;
  const Formula* first = nullptr;
  Type type;
  for (const ast::CallArgument& argument : call.arguments) {
    const Formula& value = *values.emplace_back(build(*argument.value, place));
    if (!want(value, Type::Kind::Number, fmt::format("what '{}' compares", word)) || !alike(value, first, type, word))
      return error();
  }
  return make(word == "max" ? Formula::Op::Max : Formula::Op::Min, type, range, std::move(values));
}

FormulaPtr Expressions::misplacedLookup(std::string_view name, source::Range range) {
  return error(emitter_.build(range, MisplacedLookup, name)
                   .note({}, "points and what is asked of them are the same on every machine, whatever files are there")
                   .refuse());
}

FormulaPtr Expressions::lookup(const ast::CallExpr& call, source::Range range, const Place& place) {
  const auto index = static_cast<unsigned>(findLookup(call.callee.parts[0].name));
  const LookupFunction& function = lookupFunctions()[index];
  if (!place.lookups) return misplacedLookup(function.name, range);
  const size_t count = function.arguments.size();
  if (!takes(call, range, call.arguments.size() == count, function.takes, function.takes)) return error();
  std::vector<FormulaPtr> arguments;
  for (size_t i = 0; i < count; ++i) {
    const Type::Kind kind = function.arguments[i];
    const Formula& value = *arguments.emplace_back(build(*call.arguments[i].value, place));
    if (kind != Type::Kind::Error && !want(value, kind, fmt::format("argument {} of '{}'", i + 1, function.name)))
      return error();
  }
  return make(Formula::Op::Lookup, function.type, range, std::move(arguments), index);
}

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
