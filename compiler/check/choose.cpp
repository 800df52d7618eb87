// `choose(condition, value, …, otherwise)`: the value after the first condition that holds. `max(value, …)`,
// `min(value, …)`.

#include "compiler/check/errors.h"
#include "compiler/check/expression.h"

namespace expc::check {
FormulaPtr Expressions::choose(const ast::CallExpr& call, source::Range range, const Place& place,
                               const Type* expected) {
  const size_t count = call.arguments.size();
  if (count < 3 || count % 2 == 0) {
    emitter_.emit(range, errors::WrongArguments, "choose",
                  "a condition and a value, more of these, and a value at the end", errors::counted(count, "argument"));
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
      emitter_.emit(argument.name->range, errors::WrongArguments, "choose", "conditions and values in their order",
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
    emitter_.emit(range, errors::WrongArguments, word, "two numbers or more", errors::counted(count, "argument"));
    return error(range);
  }
  Formula formula;
  formula.op = word == "max" ? Formula::Op::Max : Formula::Op::Min;
  formula.range = range;
  for (const ast::CallArgument& argument : call.arguments) {
    if (argument.name) {
      emitter_.emit(argument.name->range, errors::WrongArguments, word, "numbers",
                    fmt::format("'{} = …'", argument.name->name));
      return error(range);
    }
    FormulaPtr value = build(*argument.value, place);
    if (value->type.isError() || !want(*value, Type::Kind::Number, fmt::format("what '{}' compares", word)))
      return error(range);
    if (formula.operands.empty()) {
      formula.type = value->type;
    } else if (!value->type.agreesWith(formula.type)) {
      emitter_.emit(value->range, errors::UnitMismatch, fmt::format("the first value of '{}'", word),
                    formula.type.name(), "this one", value->type.name());
      return error(range);
    }
    formula.type.whole = formula.type.whole && value->type.whole;
    formula.operands.push_back(std::move(value));
  }
  return make(std::move(formula));
}

}  // namespace expc::check
