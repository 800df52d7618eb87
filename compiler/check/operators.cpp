// Operators, functions of values, and composite values: comparisons, arithmetic, `in`, `??`, `choose`, `max`,
// `min`, functions of files, lists, tuples and records. Each function checks its operands' types and gives the
// formula to `make`.

#include "compiler/check/expression.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(UselessCoalesce, "'{0}' always has a value");
EXPC_DIAGNOSTIC(MisplacedLookup, "'{0}' reads files, which only an estimate may do");

using Op = Formula::Op;

/// A kind of type in words, for "must be …".
std::string_view kindName(Type::Kind kind) {
  return kind == Type::Kind::Bool     ? "a condition"
         : kind == Type::Kind::Number ? "a number"
         : kind == Type::Kind::String ? "a text in double quotes"
                                      : "a value";
}

}  // namespace

std::string describe(const Type& type) {
  if (type.kind == Type::Kind::Bool) return "a condition";
  const bool plain = type.isNumber() && type.dimension.isPlain();
  return plain ? "a plain number" : fmt::format("of type {}", type.name());
}

Op opOf(ast::BinaryOp op) {
  // In the order of ast::BinaryOp.
  static constexpr Op kOps[] = {Op::Or,        Op::And,      Op::Equal,        Op::NotEqual, Op::Less,
                                Op::LessEqual, Op::Greater,  Op::GreaterEqual, Op::InSet,    Op::InSet,
                                Op::Add,       Op::Subtract, Op::Multiply,     Op::Divide,   Op::Coalesce};
  static_assert(std::size(kOps) == size_t(ast::BinaryOp::Coalesce) + 1);
  return kOps[size_t(op)];
}

void Context::mismatch(source::Range range, std::string_view what, const Type& expected, const Type& found) {
  auto builder = emitter.emit(range, TypeMismatch, what, describe(expected), describe(found));
  // Notes for the usual causes: mixed ratio and share, a missing unit, a quoted level.
  using Flavor = Dimension::Flavor;
  bool ratio_and_share = expected.dimension.flavor != Flavor::Plain && found.dimension.flavor != Flavor::Plain &&
                         expected.dimension != found.dimension;
  if (ratio_and_share) builder.note("'x' makes a Ratio (1.2x), '%' a Share (95%); they cannot be mixed");
  // The unit of a share is percent, which `baseUnit` leaves out.
  const bool numbers = expected.isNumber() && found.isNumber();
  if (numbers && found.dimension.isPlain() && !expected.dimension.isPlain()) {
    const std::string unit = expected.dimension.baseUnit();
    builder.note("write a unit after the number, as in '{}'", unit.empty() ? "95%" : "1" + unit);
  }
  if (expected.isEnum() && found.kind == Type::Kind::String) builder.note("a level is a name without quotes");
  if (expected.kind == Type::Kind::Bool) builder.note("it is true or false");
}

bool Context::want(const Formula& formula, Type::Kind kind, std::string_view what) {
  // Error passes: its cause was reported.
  if (formula.type.isError() || formula.type.kind == kind) return true;
  return emitter.emit(formula.range, TypeMismatch, what, kindName(kind), describe(formula.type));
}

bool Context::agree(FormulaPtr& left, FormulaPtr& right) {
  // `x <= 5%` compares a plain number with 0.05.
  left = asNumber(std::move(left), right->type);
  right = asNumber(std::move(right), left->type);
  if (left->type.isError() || right->type.isError() || left->type.agreesWith(right->type)) return true;
  return emitter.emit(source::join(left->range, right->range), UnitMismatch, "the left side", describe(left->type),
                      "the right side", describe(right->type));
}

FormulaPtr Context::condition(const ast::Expr& expr, const ExpressionScope& place, std::string_view what) {
  Type boolean = Type::boolean();
  FormulaPtr formula = build(expr, place, &boolean);
  if (formula->type.isError() || !want(*formula, Type::Kind::Bool, what)) return nullptr;
  return formula;
}

FormulaPtr Context::unary(const ast::UnaryExpr& unary, const Site& at) {
  bool negate = unary.op == ast::UnaryOp::Negate;
  FormulaPtr operand = build(*unary.operand, at.place);
  if (!want(*operand, negate ? Type::Kind::Number : Type::Kind::Bool,
            negate ? "the operand of '-'" : "the operand of 'not'"))
    return error();
  return make(negate ? Op::Negate : Op::Not, operand->type, at.range, {operand});
}

FormulaPtr Context::binary(const ast::BinaryExpr& binary, const Site& at) {
  using enum ast::BinaryOp;
  const ast::BinaryOp op = binary.op;
  if (op == In || op == NotIn) return membership(binary, at);
  if (op == Coalesce) return coalesce(binary, at);
  if (op == Add || op == Subtract || op == Multiply || op == Divide) return arithmetic(binary, at);
  if (op != Or && op != And) return equality(binary, at);
  const std::string_view what = op == Or ? "a side of 'or'" : "a side of 'and'";
  // Build both sides before judging either, so that both are reported.
  FormulaPtr left = build(*binary.left, at.place), right = build(*binary.right, at.place);
  bool good = want(*left, Type::Kind::Bool, what);
  good &= want(*right, Type::Kind::Bool, what);
  return good ? make(opOf(op), Type::boolean(), at.range, {left, right}) : error();
}

FormulaPtr Context::coalesce(const ast::BinaryExpr& binary, const Site& at) {
  FormulaPtr left = build(*binary.left, at.place);
  // The right side may be a bare level of the left side's enum.
  FormulaPtr right = build(*binary.right, at.place, &left->type);
  if (left->type.isError() || right->type.isError() || !agree(left, right)) return error();
  // A constant is always there, so the alternative is dead.
  if (left->isConstant()) {
    emitter.emit(binary.left->range, UselessCoalesce, written(binary.left->range))
        .note(binary.right->range, "the value after '\?\?' is never used");
    return left;
  }
  // The result is whole only if both sides are.
  Type type = left->type;
  type.whole = left->type.whole && right->type.whole;
  return make(Op::Coalesce, type, at.range, {left, right});
}

FormulaPtr Context::equality(const ast::BinaryExpr& binary, const Site& at) {
  const Op op = opOf(binary.op);
  FormulaPtr left, right;
  // A bare level gets its meaning from the other side's type, so build the side that names a value first.
  if (namesValue(*binary.left, at.place) || !namesValue(*binary.right, at.place)) {
    left = build(*binary.left, at.place);
    right = build(*binary.right, at.place, &left->type);
  } else {
    right = build(*binary.right, at.place);
    left = build(*binary.left, at.place, &right->type);
  }
  if (left->type.isError() || right->type.isError()) return error();
  if (!agree(left, right)) return error();
  // `<` and its like need an order: numbers have one, enums only if declared so.
  if (op != Op::Equal && op != Op::NotEqual) {
    const Type& type = left->type;
    bool ordered = type.isNumber() || (type.isEnum() && type.enumeration->ordered);
    if (!ordered)
      return error(emitter.emit(at.range, TypeMismatch, "an operand of an ordering",
                                "a number or a level of an ordered enum", describe(type)));
  }
  return make(op, Type::boolean(), at.range, {left, right});
}

FormulaPtr Context::membership(const ast::BinaryExpr& binary, const Site& at) {
  // A written range or set belongs to `in`; anything else must be a list value.
  const auto* members = membersOf(*binary.right);
  const bool written = binary.right->as<ast::RangeExpr>() || members;
  // Build a list first, since its element type gives a bare level on the left its meaning.
  FormulaPtr list = written ? nullptr : build(*binary.right, at.place);
  bool is_list = list && list->type.kind == Type::Kind::List;
  FormulaPtr value = build(*binary.left, at.place, is_list ? &list->type.composite->parts[0] : nullptr);
  if (list && list->type.isError()) return error();
  FormulaPtr result;
  if (is_list) {
    if (!value->type.isError() && !value->type.agreesWith(list->type.composite->parts[0])) {
      mismatch(binary.left->range, "the left side of 'in'", list->type.composite->parts[0], value->type);
      return error();
    }
    result = make(Op::InList, Type::boolean(), at.range, {value, list});
  } else if (auto* bounds = binary.right->as<ast::RangeExpr>()) {
    result = this->range(std::move(value), *bounds, at);
  } else if (members) {
    std::vector<FormulaPtr> operands = {value};
    bool good = true;
    for (const ast::ExprPtr& element : *members) {
      FormulaPtr built = build(*element, at.place, &value->type);
      // Judge all elements, so that each mistake is reported.
      good &= agree(value, built);
      operands.push_back(std::move(built));
    }
    result = good ? make(Op::InSet, Type::boolean(), at.range, std::move(operands)) : error();
  } else {
    return error(emitter.emit(binary.right->range, TypeMismatch, "the right side of 'in'",
                              "a set { … }, a range or a list", describe(list->type)));
  }
  // `not in` negates the same formula.
  if (binary.op == ast::BinaryOp::In || result->type.isError()) return result;
  return make(Op::Not, Type::boolean(), at.range, {result});
}

FormulaPtr Context::range(FormulaPtr value, const ast::RangeExpr& bounds, const Site& at) {
  Formula formula = formulaOf(Op::InRange, Type::boolean(), at.range, {value});
  formula.geometric = bounds.geometric;
  bool good = want(*value, Type::Kind::Number, "the left side of 'in'");
  for (const ast::ExprPtr* part : {&bounds.lower, &bounds.upper, &bounds.step}) {
    FormulaPtr built = *part ? build(**part, at.place) : nullptr;
    // A geometric step is a plain factor; all other parts have the value's unit.
    bool factor = part == &bounds.step && bounds.geometric;
    if (built && good) good = factor ? want(*built, Type::Kind::Number, "a factor") : agree(value, built);
    formula.operands.push_back(std::move(built));
  }
  return good ? make(std::move(formula)) : error();
}

FormulaPtr Context::arithmetic(const ast::BinaryExpr& binary, const Site& at) {
  const Op op = opOf(binary.op);
  // `300 / row`: a unit without a number may be a divisor.
  FormulaPtr left = build(*binary.left, at.place),
             right = op == Op::Divide ? unitBelow(*binary.right, at.place) : nullptr;
  if (!right) right = build(*binary.right, at.place);
  if (left->type.isError() || right->type.isError()) return error();
  if (!want(*left, Type::Kind::Number, "the left side") || !want(*right, Type::Kind::Number, "the right side"))
    return error();
  // Sums need one dimension; products and quotients make a new one.
  if (op == Op::Add || op == Op::Subtract)
    return agree(left, right) ? make(op, Type::number(left->type.dimension), at.range, {left, right}) : error();
  auto dimension = op == Op::Multiply ? left->type.dimension.times(right->type.dimension)
                                      : left->type.dimension.over(right->type.dimension);
  if (!dimension)
    return error(emitter.emit(at.range, UnitMismatch, "the left side", describe(left->type), "the right side",
                              describe(right->type)));
  // Constant division by zero is reported at once, even if the left side is not constant.
  if (const Rational* divisor = right->constant.asNumber();
      op == Op::Divide && right->isConstant() && divisor->sign() == 0) {
    reportFailure({Failure::Kind::DivisionByZero, at.range}, "", "", emitter);
    return error();
  }
  return make(op, Type::number(*dimension), at.range, {left, right});
}

bool Context::takes(const ast::CallExpr& call, const Site& at, bool fits, std::string_view number,
                    std::string_view each) {
  const std::string& word = call.callee.parts[0].name;
  if (!fits) emitter.emit(at.range, WrongArguments, word, number, countedArguments(call.arguments.size()));
  for (const ast::CallArgument& argument : call.arguments)
    if (fits && argument.name) {
      const std::string found = fmt::format("'{} = …'", argument.name->name);
      return emitter.emit(argument.name->range, WrongArguments, word, each, found);
    }
  return fits;
}

bool Context::alike(const Formula& value, const Formula*& first, Type& type, std::string_view word) {
  if (value.type.isError()) return false;
  if (!first) type = value.type;
  if (!first) first = &value;
  if (!value.type.agreesWith(type))
    return emitter
        .emit(value.range, UnitMismatch, fmt::format("the first value of '{}'", word), type.name(), "this one",
              value.type.name())
        .note(first->range, "the first value");
  // The result is whole only if every value is.
  type.whole = type.whole && value.type.whole;
  return true;
}

FormulaPtr Context::choose(const ast::CallExpr& call, const Site& at) {
  const size_t count = call.arguments.size();
  if (!takes(call, at, count >= 3 && count % 2 == 1, "a condition and a value, more of these, and a value at the end",
             "conditions and values in their order"))
    return error();
  std::vector<FormulaPtr> parts;
  const Formula* first = nullptr;
  Type type;
  bool good = true;
  for (size_t i = 0; i < count; ++i) {
    const ast::Expr& part = *call.arguments[i].value;
    // Even positions are conditions, except the last, which is the value otherwise.
    const bool test = i % 2 == 0 && i + 1 < count;
    parts.push_back(test ? condition(part, at.place, "a condition of 'choose'")
                         : build(part, at.place, first ? &type : at.expected));
    good &= test ? parts.back() != nullptr : alike(*parts.back(), first, type, "choose");
  }
  return good ? make(Formula::Op::Choose, type, at.range, std::move(parts)) : error();
}

FormulaPtr Context::count(const ast::CallExpr& call, const Site& at) {
  if (!takes(call, at, !call.arguments.empty(), "one condition or more", "conditions")) return error();
  const auto whole = [&](int64_t value) {
    return constantOf(Value::number(Rational(value)), Type::integer(), at.range);
  };
  const Type boolean = Type::boolean();
  FormulaPtr sum;
  bool good = true;
  for (const ast::CallArgument& argument : call.arguments) {
    const FormulaPtr value = build(*argument.value, at.place, &boolean);
    const bool list = value->type.kind == Type::Kind::List;
    good &= list || (!value->type.isError() && want(*value, Type::Kind::Bool, "a condition of 'count'"));
    if (!good) continue;
    const FormulaPtr one = list ? make(Formula::Op::Size, Type::integer(), at.range, {value})
                                : make(Formula::Op::Choose, Type::integer(), at.range, {value, whole(1), whole(0)});
    sum = sum ? make(Formula::Op::Add, Type::integer(), at.range, {sum, one}) : one;
  }
  return good ? sum : error();
}

FormulaPtr Context::extreme(const ast::CallExpr& call, const Site& at) {
  const std::string& word = call.callee.parts[0].name;
  if (!takes(call, at, call.arguments.size() > 1, "two numbers or more", "numbers")) return error();
  std::vector<FormulaPtr> values, elements;
  const Formula* first = nullptr;
  Type type;
  for (const ast::CallArgument& argument : call.arguments) {
    elements.push_back(values.emplace_back(build(*argument.value, at.place)));
    // A list stands for its elements.
    if (const Type& of = values.back()->type; of.kind == Type::Kind::List) {
      Formula element = *values.back();
      element.type = of.composite->parts[0];
      elements.back() = std::make_shared<Formula>(std::move(element));
    }
    const Formula& value = *elements.back();
    if (!want(value, Type::Kind::Number, fmt::format("an argument of '{}'", word)) || !alike(value, first, type, word))
      return error();
  }
  if (std::ranges::all_of(values, [](const FormulaPtr& value) { return value->type.kind == Type::Kind::List; }))
    return error(
        emitter.emit(at.range, WrongArguments, word, "a number beside lists, which may be empty", "lists only"));
  return make(word == "max" ? Formula::Op::Max : Formula::Op::Min, type, at.range, std::move(values));
}

FormulaPtr Context::misplacedLookup(std::string_view name, source::Range range) {
  return error(emitter.emit(range, MisplacedLookup, name)
                   .note("points and criteria must not depend on files of one machine; only estimates may"));
}

FormulaPtr Context::lookup(const ast::CallExpr& call, const Site& at) {
  const auto index = unsigned(findLookup(call.callee.parts[0].name));
  const LookupFunction& function = lookupFunctions()[index];
  if (!at.place.lookups) return misplacedLookup(function.name, at.range);
  const size_t count = function.arguments.size();
  if (!takes(call, at, call.arguments.size() == count, function.takes, function.takes)) return error();
  std::vector<FormulaPtr> arguments;
  for (size_t i = 0; i < count; ++i) {
    const Type::Kind kind = function.arguments[i];
    const Formula& value = *arguments.emplace_back(build(*call.arguments[i].value, at.place));
    if (kind != Type::Kind::Error && !want(value, kind, fmt::format("argument {} of '{}'", i + 1, function.name)))
      return error();
  }
  return make(Formula::Op::Lookup, function.type, at.range, std::move(arguments), index);
}

/// `lora.rank`, a part of a record.
FormulaPtr Context::field(const ast::NameExpr& name, const Site& at) {
  const auto& parts = name.name.parts;
  ast::NameExpr first{{{parts[0]}, parts[0].range}};
  // Resolve the first part as a name, then descend one field for each further part.
  FormulaPtr record = this->name(first, {parts[0].range, at.place, nullptr});
  for (size_t i = 1; i < parts.size(); ++i) {
    if (record->type.isError()) return error();
    if (record->type.kind != Type::Kind::Record)
      return error(emitter.emit(parts[i].range, TypeMismatch, "the left side of '.'", "a module or a record",
                                record->type.name()));
    const CompositeType& type = *record->type.composite;
    const int found = findNamed(type.fields, parts[i].name);
    if (found < 0) return error(unknownName(emitter, "field", parts[i], namesOf(type.fields)));
    const auto part = unsigned(found);
    record = make(Formula::Op::Field, type.parts[part], at.range, {record}, part);
  }
  return record;
}

/// A list or a tuple. Without an expected type the first element determines that of a list.
FormulaPtr Context::sequence(const std::vector<ast::ExprPtr>& elements, const Site& at, bool tuple) {
  bool fits = at.expected && at.expected->kind == (tuple ? Type::Kind::Tuple : Type::Kind::List);
  Formula formula = formulaOf(Formula::Op::Sequence, Type::error(), at.range);
  // The value without its parts; evaluation fills them in from the operands.
  formula.constant = {CompositeValue{tuple ? Type::Kind::Tuple : Type::Kind::List, {}, {}}};
  std::vector<Type> types;
  for (size_t i = 0; i < elements.size(); ++i) {
    // The expected type of this element: of the list, of this part of the tuple, or of the first element.
    const Type* wanted = nullptr;
    if (fits && !tuple) wanted = &at.expected->composite->parts[0];
    if (fits && tuple && i < at.expected->composite->parts.size()) wanted = &at.expected->composite->parts[i];
    if (!fits && !tuple && !types.empty()) wanted = &types[0];
    FormulaPtr element = build(*elements[i], at.place, wanted);
    std::string_view what = tuple ? "this part of the tuple" : "an element of the list";
    if (element->type.isError() || (wanted && !this->fits(*element, *wanted, what))) return error();
    types.push_back(wanted ? *wanted : element->type);
    formula.operands.push_back(std::move(element));
  }
  // `[]` has a type only from its context.
  if (!tuple && types.empty() && !fits)
    return error(emitter.emit(at.range, NotAValue, "an empty list of unknown type"));
  formula.type = tuple ? Type::tuple(std::move(types)) : fits ? *at.expected : Type::list(types[0]);
  return make(std::move(formula));
}

FormulaPtr Context::record(const std::vector<ast::CallArgument>& fields, const Site& at) {
  if (!at.expected || at.expected->kind != Type::Kind::Record)
    return error(emitter.emit(at.range, NotAValue, "a record"));
  EXPC_DIAGNOSTIC(WrongArguments, "the record has no value for '{0}'");
  const CompositeType& type = *at.expected->composite;
  Formula formula =
      formulaOf(Formula::Op::Sequence, *at.expected, at.range, std::vector<FormulaPtr>(type.fields.size()));
  formula.constant = {CompositeValue{Type::Kind::Record, type.fields, {}}};
  // Fields may come in any order; each exactly once.
  for (const ast::CallArgument& field : fields) {
    const int found = findNamed(type.fields, field.name->name);
    if (found < 0) return error(unknownName(emitter, "field", *field.name, namesOf(type.fields)));
    const size_t index = found;
    if (formula.operands[index])
      return error(duplicateName(emitter, "field", *field.name, formula.operands[index]->range));
    FormulaPtr value = build(*field.value, at.place, &type.parts[index]);
    if (value->type.isError() || !fits(*value, type.parts[index], fmt::format("'{}'", field.name->name)))
      return error();
    formula.operands[index] = std::move(value);
  }
  for (size_t i = 0; i < formula.operands.size(); ++i)
    if (!formula.operands[i]) return error(emitter.emit(at.range, WrongArguments, type.fields[i]));
  return make(std::move(formula));
}

}  // namespace expc::check
