// The evaluator, ranges, and the topological order. The evaluator is a table of member functions by
// Formula::Op. A value that is missing is an empty optional, and `failure` says why; the first failure ends the
// evaluation.

#include "compiler/check/value/formula.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(Overflow, "the result of this arithmetic cannot be represented exactly");
EXPC_DIAGNOSTIC(DivisionByZero, "division by zero");
EXPC_DIAGNOSTIC(InactiveParameter, "'{0}' has no value where it is not active");
EXPC_DIAGNOSTIC(BadRange, "this range {0}");

using Op = Formula::Op;

/// One evaluation.
struct Evaluator {
  using Kind = Failure::Kind;
  const Environment& environment;
  Failure failure;

  /// Records why there is no value.
  std::optional<Value> fail(Kind kind, const Formula& formula) {
    failure = {kind, formula.range, formula.parameter};
    return std::nullopt;
  }

  /// A parameter's value; an inactive one has none.
  std::optional<Value> parameter(const Formula& formula) {
    assert(formula.parameter < environment.count && "a formula is evaluated without its parameters");
    const Value* value = environment.parameters[formula.parameter];
    return value ? std::optional<Value>(*value) : fail(Kind::Inactive, formula);
  }

  /// `and`, `or` over any number of operands; stops at the first one that decides.
  std::optional<Value> logic(const Formula& formula) {
    bool stop = formula.op == Op::Or;
    for (const FormulaPtr& operand : formula.operands) {
      auto value = run(*operand);
      if (!value) return value;
      if (value->asBool() == stop) return value;
    }
    return Value::boolean(!stop);
  }

  /// -1, 0 or 1: numbers by value, levels of an ordered enum by position.
  static int order(const Value& left, const Value& right) {
    if (const EnumValue* level = std::get_if<EnumValue>(&left.node)) {
      unsigned other = std::get<EnumValue>(right.node).level;
      return level->level < other ? -1 : level->level > other ? 1 : 0;
    }
    const Rational &a = *left.asNumber(), &b = *right.asNumber();
    return a < b ? -1 : b < a ? 1 : 0;
  }

  /// The result of arithmetic, or Overflow if it cannot be held exactly.
  std::optional<Value> number(const std::optional<Rational>& result, const Formula& formula) {
    return result ? std::optional(Value::number(*result, formula.type.dimension)) : fail(Kind::Overflow, formula);
  }

  /// Evaluates Not, Negate, Size and Field.
  std::optional<Value> unary(const Formula& formula) {
    auto value = run(*formula.operands[0]);
    if (!value) return value;
    if (formula.op == Op::Not) return Value::boolean(!value->asBool());
    if (formula.op == Op::Negate) return number(-*value->asNumber(), formula);
    const std::vector<Value>& parts = std::get<CompositeValue>(value->node).parts;
    return formula.op == Op::Size ? Value::number(Rational(int64_t(parts.size()))) : parts[formula.parameter];
  }

  /// Comparisons, membership in a list, and arithmetic.
  std::optional<Value> binary(const Formula& formula) {
    auto left = run(*formula.operands[0]);
    if (!left) return left;
    auto right = run(*formula.operands[1]);
    if (!right) return right;
    const Op op = formula.op;
    if (op == Op::Equal || op == Op::NotEqual) return Value::boolean((*left == *right) == (op == Op::Equal));
    if (op == Op::InList) return Value::boolean(is_contained(std::get<CompositeValue>(right->node).parts, *left));
    // Operators before InSet are comparisons of order.
    if (op < Op::InSet) {
      const int sign = order(*left, *right);
      return Value::boolean(op == Op::Less        ? sign < 0
                            : op == Op::LessEqual ? sign <= 0
                            : op == Op::Greater   ? sign > 0
                                                  : sign >= 0);
    }
    const Rational &a = *left->asNumber(), &b = *right->asNumber();
    if (op == Op::Divide && b.sign() == 0) return fail(Kind::DivisionByZero, formula);
    return number(op == Op::Add ? a + b : op == Op::Subtract ? a - b : op == Op::Multiply ? a * b : a / b, formula);
  }

  /// Compares with one element after the other, so elements behind a match need no value.
  std::optional<Value> inSet(const Formula& formula) {
    auto value = run(*formula.operands[0]);
    if (!value) return value;
    for (size_t i = 1; i < formula.operands.size(); ++i) {
      auto element = run(*formula.operands[i]);
      if (!element) return element;
      if (*element == *value) return Value::boolean(true);
    }
    return Value::boolean(false);
  }

  /// InRange: evaluates the bounds, then asks liesInRange.
  std::optional<Value> inRange(const Formula& formula) {
    std::optional<Value> values[4];
    for (size_t i = 0; i < formula.operands.size(); ++i) {
      if (!formula.operands[i]) continue;
      values[i] = run(*formula.operands[i]);
      if (!values[i]) return values[i];
    }
    const auto number = [&](size_t i) { return values[i] ? values[i]->asNumber() : nullptr; };
    // A step of zero would divide by zero below.
    if (number(3) && !formula.geometric && number(3)->sign() == 0) return fail(Kind::DivisionByZero, formula);
    const auto lies = liesInRange(*number(0), *number(1), number(2), number(3), formula.geometric);
    return lies ? Value::boolean(*lies) : fail(Kind::Overflow, formula);
  }

  /// Appends the values of all operands; false if one has none.
  bool append(const Formula& formula, std::vector<Value>& values) {
    for (const FormulaPtr& operand : formula.operands) {
      auto value = run(*operand);
      if (!value) return false;
      values.push_back(std::move(*value));
    }
    return true;
  }

  /// Variant and Sequence: a level with its payload, a list, a tuple or a record.
  std::optional<Value> composite(const Formula& formula) {
    Value result = formula.constant;
    auto* level = std::get_if<EnumValue>(&result.node);
    std::vector<Value>& parts = level ? level->payload : std::get<CompositeValue>(result.node).parts;
    return append(formula, parts) ? std::optional(std::move(result)) : std::nullopt;
  }

  /// Evaluates only the chosen value: the others may lack one there, which is what `choose` is used for.
  std::optional<Value> choose(const Formula& formula) {
    for (size_t i = 0; i + 1 < formula.operands.size(); i += 2) {
      auto holds = run(*formula.operands[i]);
      if (!holds) return holds;
      if (holds->asBool()) return run(*formula.operands[i + 1]);
    }
    return run(*formula.operands.back());
  }

  /// Max, Min.
  std::optional<Value> extreme(const Formula& formula) {
    std::optional<Value> best;
    const auto take = [&](const Value& value) {
      if (!best || (formula.op == Op::Max ? order(value, *best) > 0 : order(value, *best) < 0)) best = value;
    };
    for (const FormulaPtr& operand : formula.operands) {
      const auto value = run(*operand);
      if (!value) return value;
      if (const auto* list = std::get_if<CompositeValue>(&value->node))
        std::ranges::for_each(list->parts, take);
      else
        take(*value);
    }
    return best;
  }

  /// A property of the machine. NoSystem if it is unknown, so that a rule about it excludes nothing.
  std::optional<Value> system(const Formula& formula) {
    if (environment.system && formula.parameter < environment.system->size())
      if (const auto& value = (*environment.system)[formula.parameter]) return *value;
    return fail(Kind::NoSystem, formula);
  }

  /// A number that files state; NotFound if they do not, which leaves an estimate unknown.
  std::optional<Value> lookup(const Formula& formula) {
    if (!environment.lookup || !*environment.lookup) return fail(Kind::NotFound, formula);
    std::vector<Value> arguments;
    if (!append(formula, arguments)) return std::nullopt;
    const auto found = (*environment.lookup)(lookupFunctions()[formula.parameter].name, arguments);
    return found ? std::optional(Value::number(*found, formula.type.dimension)) : fail(Kind::NotFound, formula);
  }

  std::optional<Value> constant(const Formula& formula) { return formula.constant; }

  std::optional<Value> metric(const Formula&) {
    assert(false && "metrics have values in trials only");
    return std::nullopt;
  }

  /// Only a missing parameter or file is replaced; overflow and division by zero stay failures.
  std::optional<Value> coalesce(const Formula& formula) {
    auto value = run(*formula.operands[0]);
    const bool absent = failure.kind == Kind::Inactive || failure.kind == Kind::NotFound;
    return value || !absent ? value : run(*formula.operands[1]);
  }

  std::optional<Value> run(const Formula& formula) {
    using E = Evaluator;
    // In the order of Formula::Op.
    static constexpr std::optional<Value> (E::* kBy[])(const Formula&) = {
        &E::constant, &E::parameter, &E::metric,   &E::metric, &E::metric, &E::system,    &E::lookup, &E::choose,
        &E::extreme,  &E::extreme,   &E::coalesce, &E::unary,  &E::unary,  &E::unary,     &E::logic,  &E::logic,
        &E::binary,   &E::binary,    &E::binary,   &E::binary, &E::binary, &E::binary,    &E::inSet,  &E::binary,
        &E::inRange,  &E::binary,    &E::binary,   &E::binary, &E::binary, &E::composite, &E::unary,  &E::composite};
    static_assert(std::size(kBy) == size_t(Op::Sequence) + 1);
    // Recursion is bounded by kMaxFormulaSize.
    return (this->*kBy[size_t(formula.op)])(formula);
  }
};

/// Appends the indices of all leaves of one kind, each once.
void collect(const Formula& formula, Op leaf, std::vector<unsigned>& found) {
  if (formula.op == leaf && !is_contained(found, formula.parameter)) found.push_back(formula.parameter);
  for (const FormulaPtr& operand : formula.operands)
    if (operand) collect(*operand, leaf, found);
}

}  // namespace

std::vector<unsigned> parametersOf(const Formula& formula) {
  std::vector<unsigned> found;
  collect(formula, Op::Parameter, found);
  std::ranges::sort(found);
  return found;
}

std::vector<unsigned> metricsOf(const Formula& formula) {
  std::vector<unsigned> found;
  collect(formula, Op::Metric, found);
  return found;
}

std::optional<bool> liesInRange(const Rational& value, const Rational& lower, const Rational* upper,
                                const Rational* step, bool geometric) {
  if (value < lower || (upper && *upper < value)) return false;
  if (!step) return true;
  // Stepped: the distance from the beginning must be a whole number of steps.
  if (!geometric) {
    const auto distance = value - lower;
    const auto count = distance ? *distance / *step : std::nullopt;
    return count ? std::optional(count->isInteger()) : std::nullopt;
  }
  // A factor that does not grow reaches only the beginning.
  if (*step <= Rational(1) || lower.sign() <= 0) return value == lower;
  std::optional<Rational> at = lower;
  while (at && *at < value) at = *at * *step;
  return at && *at == value;
}

const std::vector<LookupFunction>& lookupFunctions() {
  using Kind = Type::Kind;
  static const std::vector<LookupFunction> all = {
      {"config", "a model and a name in its config.json", {Kind::Error, Kind::String}, Type::number()},
      {"images", "data", {Kind::Error}, Type::number()},
      {"row_tokens",
       "\"longest\" or \"learnt\", rows of a batch, the longest that one may be, data, template, row limit, tokenizer, "
       "model and whether rows are pairs",
       {Kind::String, Kind::Number, Kind::Number, Kind::Error, Kind::Error, Kind::Number, Kind::Error, Kind::Error,
        Kind::Bool},
       Type::number(Dimension::of(Dimension::Tokens))},
  };
  return all;
}

int findLookup(std::string_view name) {
  const auto& all = lookupFunctions();
  const auto found = std::ranges::find(all, name, &LookupFunction::name);
  return found == all.end() ? -1 : int(found - all.begin());
}

Outcome evaluate(const Formula& formula, const Environment& environment) {
  Evaluator evaluator{environment, {}};
  auto value = evaluator.run(formula);
  if (value) return std::move(*value);
  return evaluator.failure;
}

void reportFailure(const Failure& failure, std::string_view parameter_name, const std::string& context,
                   diag::Emitter& emitter) {
  using Kind = Failure::Kind;
  // points::Machine never reports: a rule or an estimate without a value says nothing about a point.
  assert(failure.kind != Kind::NoSystem && "a rule with 'system' is evaluated without a system");
  assert(failure.kind != Kind::NotFound && "only estimates read files, and they may have no value");
  auto builder = failure.kind == Kind::Overflow ? emitter.emit(failure.range, Overflow)
                 : failure.kind == Kind::DivisionByZero
                     ? emitter.emit(failure.range, DivisionByZero)
                     : emitter.emit(failure.range, InactiveParameter, parameter_name);
  if (failure.kind == Kind::Overflow) builder.note("numbers are exact fractions of 64-bit whole numbers");
  if (failure.kind == Kind::Inactive)
    builder.note("give it a value there, as in 'rank ?? 0 > 8', or test first: 'method == lora and rank > 8'");
  if (!context.empty()) builder.note("{}", context);
}

std::optional<std::vector<Value>> enumerateRange(const Value& lower, const Value* upper, const Value* step,
                                                 bool geometric, source::Range range, size_t limit,
                                                 diag::Emitter& emitter) {
  auto refuse = [&](std::string_view why) { return emitter.emit(range, BadRange, why); };
  if (!upper) return refuse("has no end, but levels need one");
  const Dimension dimension = std::get<Value::Number>(lower.node).dimension;
  const Rational &first = *lower.asNumber(), &last = *upper->asNumber();
  if (last < first) return refuse("is empty: its end is before its beginning");
  // `1..4` counts by one; for quantities and fractions a default distance would be a guess.
  if (!step && (!dimension.isPlain() || !first.isInteger())) return refuse("needs a step: write 'by' and the distance");
  Rational stride = step ? *step->asNumber() : Rational(1);
  if (geometric && (stride <= Rational(1) || first.sign() <= 0))
    return refuse("never ends: 'by *' takes a factor above 1 and a beginning above 0");
  if (!geometric && stride.sign() <= 0) return refuse("never ends: its step must be above 0");
  std::vector<Value> values;
  // A value that overflows ends the range only if it lies beyond the end; else the range has a value that
  // cannot be held.
  std::optional<Rational> next;
  for (std::optional<Rational> at = first; at && *at <= last; at = next) {
    // Checked at each value, since a small step can ask for billions of them.
    if (values.size() == limit) return refuse(fmt::format("has more than {} values", limit));
    values.push_back(Value::number(*at, dimension));
    next = geometric ? *at * stride : *at + stride;
    if (next) continue;
    const auto room = geometric ? last / *at : last - *at;
    if (!room || stride <= *room)
      return refuse(fmt::format("has a value after {} that cannot be represented exactly; write the levels one by one",
                                values.back().toString()));
  }
  return values;
}

void inOrder(size_t count, function_ref<void(size_t, function_ref<void(size_t)>)> needs,
             function_ref<void(size_t)> visit, function_ref<void(size_t)> cycle) {
  // Depth-first search; a node that is met while it is active closes a circle.
  enum class State : char { New, Active, Done };
  std::vector<State> states(count, State::New);
  const auto enter = [&](auto& self, size_t at) -> void {
    if (states[at] == State::Done) return;
    if (states[at] == State::Active) return cycle(at);
    states[at] = State::Active;
    needs(at, [&](size_t needed) { self(self, needed); });
    states[at] = State::Done;
    visit(at);
  };
  for (size_t at = 0; at < count; ++at) enter(enter, at);
}

}  // namespace expc::check
