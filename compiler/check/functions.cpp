// `choose(condition, value, …, otherwise)`: the value after the first condition that holds. `max(value, …)`,
// `min(value, …)`. Functions of estimates whose value stands in files.

#include <algorithm>

#include "compiler/check/errors.h"
#include "compiler/check/expression.h"
#include "compiler/check/formula/lookup.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MisplacedLookup, Error, "'{0}' reads files, which only an estimate may do");

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

}  // namespace expc::check
