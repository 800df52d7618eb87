// Reductions of several numbers to one, `median(…)` or `p99.9(…, skip = 100)`: their words and their arguments with
// names. They are the same behind `from`, where they stand around a reader (metric_source.cpp), and in derived metrics,
// where they stand around a series (expression.cpp).

#include <algorithm>

#include "compiler/check/checker.h"
#include "runtime/plan/evaluate.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadReduction, "'{0}' {1}");
EXPC_DIAGNOSTIC(FewValues, "{0} of at most {1} values is unreliable: fewer than one value is expected beyond it");

/// The number of `p99.9`; nothing for another word.
std::optional<double> percentileOf(std::string_view word) {
  const auto number = word.starts_with('p') ? Rational::parse(word.substr(1)) : std::nullopt;
  return number ? std::optional(number->toDouble()) : std::nullopt;
}

/// The word of other languages, whose argument is a share.
constexpr std::string_view kQuantile = "quantile";

/// Translates `percentile(latency, 99%)` and `quantile(latency, 0.99)` into the language's word; "p99" if its second
/// argument is no number.
std::string percentileWord(Context& context, const ast::CallExpr& call, const ExpressionScope& place) {
  auto* number = call.arguments.size() == 2 ? call.arguments[1].value->as<ast::NumberLiteral>() : nullptr;
  const auto value = number ? context.number(*call.arguments[1].value, place, "the percentile") : std::nullopt;
  if (!value) return "p99";
  const bool share =
      std::get<Value::Number>(value->node).dimension == Dimension::share() || joined(call.callee) == kQuantile;
  return fmt::format("p{}", value->asNumber()->toDouble() * (share ? 100 : 1));
}

}  // namespace

bool isReduction(std::string_view word) {
  return percentileOf(word) || base::valueOf(plan::words::kTake, word) || word == kQuantile;
}

std::optional<plan::Reduction> Context::reduction(const ast::CallExpr& call, source::Range range,
                                                  const ExpressionScope& place) {
  const std::string word = joined(call.callee);
  const auto refuse = [&](source::Range at, std::string_view why) { return emitter.emit(at, BadReduction, word, why); };
  using Take = plan::Reduction::Take;
  plan::Reduction made = base::valueOf(plan::words::kTake, word).value_or(Take::Percentile);
  if (word == "percentile" || word == kQuantile)
    return refuse(call.callee.range,
                  fmt::format("has the number in its name: write '{}(…)'", percentileWord(*this, call, place)));
  if (const auto number = percentileOf(word)) {
    made.percentile = *number;
    if (*number <= 0 || *number >= 100)
      return refuse(call.callee.range, "is not a percentile: write one between 0 and 100, such as 'p99' or 'p99.9'");
  }
  for (const ast::CallArgument& argument : call.arguments)
    if (argument.name && !selection(argument, word, place, made)) return std::nullopt;
  const uint64_t most = std::max(made.first, made.last);
  if (most > 0 && most < plan::leastValues(made)) emitter.emit(range, FewValues, word, most);
  return made;
}

bool Context::selection(const ast::CallArgument& argument, std::string_view word, const ExpressionScope& place,
                        plan::Reduction& made) {
  const std::string& name = argument.name->name;
  uint64_t* const set = name == "skip"    ? &made.skip
                        : name == "first" ? &made.first
                        : name == "last"  ? &made.last
                                          : nullptr;
  if (!set) return diag::unknownName(emitter, argument.name->range, "argument", name, {"skip", "first", "last"});
  const auto count = constant(*argument.value, place, Type::number(), fmt::format("'{}'", name));
  if (!count) return false;
  constexpr double kMost = 1e9;
  const Rational& number = *count->asNumber();
  if (!number.isInteger() || number.sign() <= 0 || number.toDouble() > kMost)
    return emitter.emit(argument.value->range, BadReduction, word,
                        fmt::format("takes a whole number of values after '{}', from 1 up", name));
  *set = uint64_t(number.toDouble());
  if (made.first > 0 && made.last > 0)
    return emitter.emit(argument.value->range, BadReduction, word, "takes 'first' or 'last', not both");
  return true;
}

}  // namespace expc::check
