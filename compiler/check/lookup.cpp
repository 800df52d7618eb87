// Functions of estimates whose value stands in files.

#include "compiler/formula/lookup.h"

#include "compiler/check/errors.h"
#include "compiler/check/expression.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MisplacedLookup, Error, "'{0}' reads files, which only an estimate may do", std::string_view);

}  // namespace

FormulaPtr Expressions::misplacedLookup(std::string_view name, source::Range range) {
  emitter_.build(range, MisplacedLookup, name)
      .note({}, "points and what is asked of them are the same on every machine, whatever files are there")
      .emit();
  return error(range);
}

FormulaPtr Expressions::lookup(const ast::CallExpr& call, source::Range range, const Place& place) {
  const int index = findLookup(call.callee.parts[0].name);
  const LookupFunction& function = lookupFunctions()[static_cast<size_t>(index)];
  if (!place.lookups) return misplacedLookup(function.name, range);
  const auto refuse = [&](const std::string& found) {
    emitter_.emit(range, errors::WrongArguments, function.name, function.takes, found);
    return error(range);
  };
  const size_t count = call.arguments.size();
  if (count != function.arguments.size()) return refuse(errors::counted(count, "argument"));
  Formula formula;
  formula.op = Formula::Op::Lookup;
  formula.parameter = static_cast<unsigned>(index);
  formula.looks_up = true;
  formula.type = function.type;
  formula.range = range;
  for (size_t i = 0; i < count; ++i) {
    const ast::CallArgument& argument = call.arguments[i];
    if (argument.name) return refuse(fmt::format("'{} = …'", argument.name->name));
    FormulaPtr value = build(*argument.value, place);
    if (value->type.isError()) return error(range);
    if (function.arguments[i] != Type::Kind::Error &&
        !want(*value, function.arguments[i], fmt::format("argument {} of '{}'", i + 1, function.name)))
      return error(range);
    formula.operands.push_back(std::move(value));
  }
  return make(std::move(formula));
}

}  // namespace expc::check
