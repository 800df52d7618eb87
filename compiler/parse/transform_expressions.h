#pragma once

// From the concrete tree to expressions and types. One function per rule of the grammar; build() dispatches on the
// rule.
//
// Every expression is built together with its depth. Later phases recurse over the tree, so a limit here keeps their
// stacks safe. Brackets are limited by the bridge already, but chains such as `a + b + …` nest without brackets.

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/parse/transform_tree.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(ChainedComparison, "comparisons do not chain: join two of them by 'and'");
EXPC_DIAGNOSTIC(NestingTooDeep, "this expression is nested more than {0} deep; name a part of it by 'let'");

/// The deepest expression that is accepted: phases after this one recurse over it.
constexpr int kMaxExpressionDepth = 200;

struct Expressions : TreeReader {
  using TreeReader::TreeReader;

  /// An expression with its depth; a literal has depth 1.
  struct Built {
    ast::ExprPtr expr;
    int depth = 1;
  };

  /// The operator that a token stands for.
  static std::optional<ast::BinaryOp> operatorOf(Token token) {
    using enum ast::BinaryOp;
    static constexpr std::pair<Token, ast::BinaryOp> kOperators[] = {{Token::Or, Or},
                                                                     {Token::And, And},
                                                                     {Token::Equal, Equal},
                                                                     {Token::NotEqual, NotEqual},
                                                                     {Token::Less, Less},
                                                                     {Token::LessEqual, LessEqual},
                                                                     {Token::Greater, Greater},
                                                                     {Token::GreaterEqual, GreaterEqual},
                                                                     {Token::Plus, Add},
                                                                     {Token::Minus, Subtract},
                                                                     {Token::Star, Multiply},
                                                                     {Token::Slash, Divide},
                                                                     {Token::Coalesce, Coalesce}};
    for (const auto& [sign, meaning] : kOperators)
      if (sign == token) return meaning;
    return std::nullopt;
  }

  /// The expression of a node; never null.
  ast::ExprPtr expression(uint32_t index) { return build(index).expr; }

  /// The expression that is the first part of `index` with this rule; null if there is none.
  ast::ExprPtr expressionIn(uint32_t index, Rule part) {
    const uint32_t found = child(index, part);
    return found ? expression(found) : nullptr;
  }

  /// Makes a node of the given depth. One that is too deep is reported and replaced by a literal.
  Built make(source::Range range, decltype(ast::Expr::node) value, int depth) {
    Built out;
    out.expr = std::make_shared<ast::Expr>();
    out.expr->range = range;
    out.depth = depth;
    if (depth <= kMaxExpressionDepth) {
      out.expr->node = std::move(value);
      return out;
    }
    // `value` is dropped, so that the tree stays shallow; so does the depth, so that only one error is reported.
    reporter.emit(range, NestingTooDeep, kMaxExpressionDepth);
    out.expr->node = ast::BoolLiteral{false};
    out.depth = 1;
    return out;
  }

  Built binary(ast::BinaryOp op, Built left, Built right) {
    const source::Range whole = source::join(left.expr->range, right.expr->range);
    const int depth = std::max(left.depth, right.depth) + 1;
    return make(whole, ast::BinaryExpr{op, std::move(left.expr), std::move(right.expr)}, depth);
  }

  /// Builds whatever stands at `index`.
  Built build(uint32_t index) {
    using T = Expressions;
    static constexpr std::pair<Rule, Built (T::*)(uint32_t)> kBuilders[] = {
        {Rule::Set, &T::set},           {Rule::Condition, &T::chain},
        {Rule::Conjunction, &T::chain}, {Rule::Sum, &T::chain},
        {Rule::Product, &T::chain},     {Rule::Coalescing, &T::chain},
        {Rule::Negation, &T::negated},  {Rule::Comparison, &T::comparison},
        {Rule::Members, &T::members},   {Rule::Unary, &T::negated},
        {Rule::Postfix, &T::postfix},   {Rule::Subject, &T::subject},
        {Rule::Primary, &T::primary},   {Rule::Group, &T::group},
        {Rule::List, &T::list},         {Rule::Refinement, &T::refinement}};
    for (const auto& [rule, build] : kBuilders)
      if (rule == node(index).rule) return (this->*build)(index);
    return build(node(index).child);  // value, settingValue, operand: the first child
  }

  /// Builds operands of one level of precedence, from the left: the children are operand, operator, operand, …
  Built chain(uint32_t index) {
    const std::vector<uint32_t> parts = children(index);
    Built left = build(parts[0]);
    for (size_t at = 1; at + 1 < parts.size(); at += 2)
      left = binary(*operatorOf(node(parts[at]).token), std::move(left), build(parts[at + 1]));
    return left;
  }

  /// Builds a comparison, a membership test or a range. Comparisons do not chain (`a < b < c`); the grammar reads them,
  /// so that the message says so.
  Built comparison(uint32_t index) {
    const std::vector<uint32_t> parts = children(index);
    Built left = build(parts[0]);
    bool compared = false;
    // Each round takes one tail: a range (`..`), a comparator with its operand, `in` or `not in` with its set.
    for (size_t at = 1; at < parts.size();) {
      if (isRule(parts[at], Rule::RangeTail)) {
        left = rangeOf(range(parts[0]), std::move(left), parts[at++]);
        continue;
      }
      const uint32_t sign = parts[at];
      if (compared) reporter.emit(range(sign), ChainedComparison);
      compared = true;
      if (isRule(sign, Rule::Comparator)) {
        left = binary(*operatorOf(node(node(sign).child).token), std::move(left), build(parts[at + 1]));
        at += 2;
        continue;
      }
      const bool negated = isToken(sign, Token::Not);
      left = binary(negated ? ast::BinaryOp::NotIn : ast::BinaryOp::In, std::move(left),
                    build(parts[at + (negated ? 2 : 1)]));
      at += negated ? 3 : 2;
    }
    return left;
  }

  /// Builds a range. `tail` is a rangeTail or a refinement: `.. upper by *step`. A refinement may leave out either
  /// part. A star behind the dots makes the steps geometric.
  Built rangeOf(source::Range lower_range, Built lower, uint32_t tail) {
    ast::RangeExpr out;
    int depth = lower.depth;
    out.lower = std::move(lower.expr);
    // Children in front of the dots belong to the lower end, which the caller has built.
    bool past = false;
    for (uint32_t part : children(tail)) {
      if (isToken(part, Token::Range)) past = true;
      if (!past || node(part).is_token) {
        out.geometric = out.geometric || (past && isToken(part, Token::Star));
        continue;
      }
      Built built = build(part);
      depth = std::max(depth, built.depth);
      (isRule(part, Rule::Sum) ? out.upper : out.step) = std::move(built.expr);
    }
    return make(source::join(lower_range, range(tail)), std::move(out), depth + 1);
  }

  /// Builds the right side of `in`: a set or a range.
  Built members(uint32_t index) {
    const uint32_t first = node(index).child;
    Built out = build(first);
    const uint32_t tail = child(index, Rule::RangeTail);
    return tail ? rangeOf(range(first), std::move(out), tail) : std::move(out);
  }

  /// Builds the set or range behind `in` in a type.
  Built refinement(uint32_t index) {
    const uint32_t first = node(index).child;
    Built out = build(first);
    return has(index, Token::Range) ? rangeOf(range(first), std::move(out), index) : std::move(out);
  }

  /// Builds `not` before a comparison, or `-` before a value, any number of times; the innermost comes first.
  Built negated(uint32_t index) {
    const auto op = isRule(index, Rule::Negation) ? ast::UnaryOp::Not : ast::UnaryOp::Negate;
    const std::vector<uint32_t> parts = children(index);
    Built out = build(parts.back());
    for (size_t at = parts.size() - 1; at-- > 0;) {
      const int depth = out.depth + 1;
      const source::Range whole = source::join(range(parts[at]), out.expr->range);
      out = make(whole, ast::UnaryExpr{op, std::move(out.expr)}, depth);
    }
    return out;
  }

  /// Builds a value with selectors in brackets: `gain[method = lora]`.
  Built postfix(uint32_t index) { return selected(index, build(node(index).child)); }

  /// Builds the subject of an assertion: a postfix without a rule for its primary. What is computed from it is built,
  /// so that the check can refuse it.
  Built subject(uint32_t index) {
    const uint32_t first = node(index).child;
    const uint32_t given = child(index, Rule::Arguments);
    const source::Range whole = given ? source::join(range(first), range(given)) : range(first);
    Built out = selected(index, primary(index, whole));
    const std::vector<uint32_t> parts = children(index);
    for (size_t at = 0; at < parts.size(); ++at)
      if (isRule(parts[at], Rule::Unary))
        out = binary(*operatorOf(node(parts[at - 1]).token), std::move(out), build(parts[at]));
    return out;
  }

  Built selected(uint32_t index, Built out) {
    for (uint32_t selectors : children(index, Rule::Selectors)) {
      int depth = out.depth;
      std::vector<ast::CallArgument> chosen = arguments(selectors, depth);
      const source::Range whole = source::join(out.expr->range, range(selectors));
      out = make(whole, ast::IndexExpr{std::move(out.expr), std::move(chosen)}, depth + 1);
    }
    return out;
  }

  /// Builds a literal, a name, a call, or an expression in brackets.
  Built primary(uint32_t index) { return primary(index, range(index)); }

  /// Builds a value that shares its node with other things; `whole` is the place of the value.
  Built primary(uint32_t index, source::Range whole) {
    const uint32_t first = node(index).child;
    if (node(first).is_token) return make(whole, ast::BoolLiteral{isToken(first, Token::True)}, 1);
    if (isRule(first, Rule::Number)) return make(whole, number(first), 1);
    if (isRule(first, Rule::Text)) return make(whole, ast::StringLiteral{string(first)}, 1);
    if (!isRule(first, Rule::Name)) return build(first);
    ast::QualifiedName name = qualifiedName(first);
    const uint32_t given = child(index, Rule::Arguments);
    if (!given) return make(whole, ast::NameExpr{std::move(name)}, 1);
    int depth = 0;
    std::vector<ast::CallArgument> list = arguments(given, depth);
    return make(whole, ast::CallExpr{std::move(name), std::move(list)}, depth + 1);
  }

  /// Builds braces: `{ 1, 2 }` is a set, `{ rank = 8, alpha = 16 }` a record. A mixture is reported.
  Built set(uint32_t index) {
    int depth = 0;
    std::vector<ast::CallArgument> members = arguments(index, depth);
    const auto named = [](const ast::CallArgument& member) { return member.name.has_value(); };
    if (std::ranges::all_of(members, named)) return make(range(index), ast::RecordExpr{std::move(members)}, depth + 1);
    ast::SetExpr out;
    for (ast::CallArgument& member : members) {
      if (member.name)
        reporter.syntaxError(source::join(member.name->range, member.value->range),
                             "values alone, as in a set, or a name and '=' before each, as in a record");
      out.elements.push_back(std::move(member.value));
    }
    return make(range(index), std::move(out), depth + 1);
  }

  /// Builds the values of a list. `depth` becomes the largest of them and its own value.
  std::vector<ast::ExprPtr> values(uint32_t index, int& depth) {
    std::vector<ast::ExprPtr> out;
    for (uint32_t value : children(index, Rule::Value)) {
      Built element = build(value);
      depth = std::max(depth, element.depth);
      out.push_back(std::move(element.expr));
    }
    return out;
  }

  /// Builds round brackets: around one expression they are that expression, around several, or with a comma behind one,
  /// a tuple.
  Built group(uint32_t index) {
    checkCommas(index, "an expression");
    if (!has(index, Token::Comma)) {
      Built out = build(child(index, Rule::Value));
      out.expr->range = range(index);
      return out;
    }
    int depth = 0;
    ast::TupleExpr out{values(index, depth)};
    return make(range(index), std::move(out), depth + 1);
  }

  /// Builds square brackets: a list of values.
  Built list(uint32_t index) {
    checkCommas(index, "a value");
    int depth = 0;
    ast::ListExpr out{values(index, depth)};
    return make(range(index), std::move(out), depth + 1);
  }

  /// Builds the arguments of a call, of selectors or of a set, each with its name if it has one. `depth` is raised to
  /// the deepest of them.
  std::vector<ast::CallArgument> arguments(uint32_t index, int& depth) {
    checkCommas(index, isRule(index, Rule::Set) ? "a value" : "an argument");
    std::vector<ast::CallArgument> out;
    for (uint32_t argument : children(index, Rule::Argument)) {
      const std::vector<uint32_t> values = children(argument, Rule::Value);
      Built built = build(values.back());
      ast::CallArgument entry;
      if (values.size() == 2) entry.name = asName(*build(values[0]).expr, "=");
      depth = std::max(depth, built.depth);
      entry.value = std::move(built.expr);
      out.push_back(std::move(entry));
    }
    return out;
  }

  /// Splits a number into its digits and its unit. The digits stay text, so that the checker reads the exact value.
  ast::NumberLiteral number(uint32_t index) const {
    const std::string_view written = text(index);
    // from_chars only tells where the digits end.
    double unused = 0;
    const size_t size = std::from_chars(written.data(), written.data() + written.size(), unused).ptr - written.data();
    return {std::string(written.substr(0, size)), std::string(written.substr(size))};
  }

  // ---- types

  /// Builds a type; `index` is a type or a refinedType (a type with `in RANGE`).
  ast::TypeExpr type(uint32_t index) {
    const uint32_t plain = isRule(index, Rule::Type) ? index : child(index, Rule::Type);
    ast::TypeExpr out;
    if (const uint32_t tuple = child(plain, Rule::TupleType))
      tupleType(tuple, out);
    else if (const uint32_t record = child(plain, Rule::RecordType))
      recordType(record, out);
    else
      namedType(plain, out);
    out.range = range(index);
    if (const uint32_t within = child(index, Rule::Refinement)) {
      // `(int in 1..4) in 1..2`: brackets around one type are that type, so it may already have a range.
      if (out.refinement)
        duplicate(within, "the type's range", out.refinement->range);
      else
        out.refinement = expression(within);
    }
    return out;
  }

  /// Builds `int`, `Images / Time` or `list(int)`. `list` is a name in the grammar, so its spelling is checked here.
  void namedType(uint32_t index, ast::TypeExpr& out) {
    const std::vector<uint32_t> names = children(index, Rule::Name);
    out.name = qualifiedName(names[0]);
    for (size_t at = 1; at < names.size(); ++at) out.per.push_back(identifier(names[at]));
    const uint32_t element = child(index, Rule::RefinedType);
    if (!element) return;
    if (text(names[0]) != "list") {
      reporter.syntaxError(range(names[0]), "'list' before a type in brackets");
      return;
    }
    out.shape = ast::TypeExpr::Shape::List;
    out.parts.push_back(type(element));
  }

  /// Builds round brackets: around one type they are that type, around several, or with a comma behind one, a tuple.
  void tupleType(uint32_t index, ast::TypeExpr& out) {
    checkCommas(index, "a type");
    const std::vector<uint32_t> parts = children(index, Rule::RefinedType);
    if (!has(index, Token::Comma)) {
      out = type(parts[0]);
      return;
    }
    out.shape = ast::TypeExpr::Shape::Tuple;
    for (uint32_t part : parts) out.parts.push_back(type(part));
  }

  /// Builds `{ rank : int, alpha : float }`.
  void recordType(uint32_t index, ast::TypeExpr& out) {
    checkCommas(index, "a field, such as 'rank : int',");
    out.shape = ast::TypeExpr::Shape::Record;
    for (uint32_t field : children(index, Rule::RecordField)) {
      out.fields.push_back(identifier(child(field, Rule::Word)));
      out.parts.push_back(type(child(field, Rule::RefinedType)));
    }
  }
};

}  // namespace expc::parse
