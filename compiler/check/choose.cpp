// `choose(condition, value, …, otherwise)`: the value after the first condition that holds. `max(value, …)` and
// `min(value, …)` are written with it.

#include "compiler/check/errors.h"
#include "compiler/check/expression.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(WrongArguments, Error, "'{0}' takes {1}, not {2}", std::string_view, std::string_view, std::string);

}  // namespace

FormulaPtr Expressions::choose(const ast::CallExpr& call, source::Range range, const Place& place,
                               const Type* expected) {
  const size_t count = call.arguments.size();
  if (count < 3 || count % 2 == 0) {
    emitter_.emit(range, WrongArguments, "choose", "a condition and a value, more of these, and a value at the end",
                  fmt::format("{} {}", count, count == 1 ? "argument" : "arguments"));
    return error(range);
  }
  Formula formula;
  formula.op = Formula::Op::Choose;
  formula.range = range;
  const Formula* first = nullptr;
  bool good = true;
  for (size_t i = 0; i < count; ++i) {
    const ast::CallArgument& argument = call.arguments[i];
    if (argument.name) {
      emitter_.emit(argument.name->range, WrongArguments, "choose", "conditions and values in their order",
                    fmt::format("'{} = …'", argument.name->name));
      return error(range);
    }
    if (i % 2 == 0 && i + 1 < count) {
      FormulaPtr test = condition(*argument.value, place, "a condition of 'choose'");
      good &= test != nullptr;
      formula.operands.push_back(std::move(test));
      continue;
    }
    FormulaPtr value = build(*argument.value, place, first ? &first->type : expected);
    if (value->type.isError()) {
      good = false;
    } else if (first && !value->type.agreesWith(first->type)) {
      emitter_
          .build(argument.value->range, errors::UnitMismatch, "the first value of 'choose'", first->type.name(),
                 "this one", value->type.name())
          .note(first->range, "the first value")
          .emit();
      good = false;
    } else if (!first) {
      first = value.get();
      formula.type = value->type;
    } else {
      formula.type.whole = formula.type.whole && value->type.whole;
    }
    formula.operands.push_back(std::move(value));
  }
  return good ? make(std::move(formula)) : error(range);
}

FormulaPtr Expressions::extreme(const ast::CallExpr& call, source::Range range, const Place& place) {
  const std::string& word = call.callee.parts[0].name;
  const size_t count = call.arguments.size();
  if (count < 2) {
    emitter_.emit(range, WrongArguments, word, "two numbers or more",
                  fmt::format("{} {}", count, count == 1 ? "argument" : "arguments"));
    return error(range);
  }
  FormulaPtr found;
  for (const ast::CallArgument& argument : call.arguments) {
    if (argument.name) {
      emitter_.emit(argument.name->range, WrongArguments, word, "numbers",
                    fmt::format("'{} = …'", argument.name->name));
      return error(range);
    }
    FormulaPtr value = build(*argument.value, place);
    if (value->type.isError() || !want(*value, Type::Kind::Number, fmt::format("what '{}' compares", word)))
      return error(range);
    if (!found) {
      found = std::move(value);
      continue;
    }
    if (!value->type.agreesWith(found->type)) {
      emitter_.emit(value->range, errors::UnitMismatch, fmt::format("the first value of '{}'", word),
                    found->type.name(), "this one", value->type.name());
      return error(range);
    }
    Formula ahead, chosen;
    ahead.op = word == "max" ? Formula::Op::GreaterEqual : Formula::Op::LessEqual;
    ahead.type = Type::boolean();
    chosen.op = Formula::Op::Choose;
    chosen.type = found->type;
    chosen.type.whole = found->type.whole && value->type.whole;
    ahead.range = chosen.range = range;
    ahead.operands = {found, value};
    chosen.operands = {make(std::move(ahead)), found, value};
    found = make(std::move(chosen));
  }
  return found;
}

}  // namespace expc::check
