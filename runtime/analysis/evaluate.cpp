#include "runtime/analysis/evaluate.h"

#include <cmath>
#include <limits>

namespace expc::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Reading make(double value, bool timed_out) {
  if (!std::isnan(value)) return {value, timed_out, ""};
  return {std::nullopt, timed_out, timed_out ? "both timed out, which says nothing of their ratio" : "0 divided by 0"};
}

/// A positive operand; the worst of a rate is 0.
double operand(const Reading& reading) { return *reading.value == -kInfinity ? 0.0 : *reading.value; }

Reading divide(const Reading& numerator, const Reading& denominator) {
  if (!numerator.value) return numerator;
  if (!denominator.value) return denominator;
  return make(operand(numerator) / operand(denominator), numerator.timed_out || denominator.timed_out);
}

Reading ratio(const Reading& numerator, const Reading& denominator) {
  for (const Reading* side : {&numerator, &denominator}) {
    if (!side->value) return *side;
    if (operand(*side) <= 0 && !side->timed_out) return {std::nullopt, false, "a ratio needs values above 0"};
  }
  return divide(numerator, denominator);
}

struct Evaluator {
  const Lookup& lookup;

  Reading operator()(const plan::ConstantTerm& term) const { return make(term.value, false); }
  Reading operator()(const plan::MetricTerm& term) const {
    Reading reading = lookup(term);
    if (reading.value && std::isnan(*reading.value)) return {std::nullopt, false, term.metric + " is not a number"};
    return reading;
  }
  Reading operator()(const plan::QuotientTerm& term) const {
    return divide(evaluate(*term.numerator, lookup), evaluate(*term.denominator, lookup));
  }
  Reading operator()(const plan::RatioTerm& term) const {
    return ratio(evaluate(*term.numerator, lookup), evaluate(*term.denominator, lookup));
  }
  Reading operator()(const plan::DifferenceTerm& term) const {
    const Reading minuend = evaluate(*term.minuend, lookup), subtrahend = evaluate(*term.subtrahend, lookup);
    if (!minuend.value) return minuend;
    if (!subtrahend.value) return subtrahend;
    return make(*minuend.value - *subtrahend.value, minuend.timed_out || subtrahend.timed_out);
  }
  Reading operator()(const plan::ScaleTerm& term) const {
    const Reading inner = evaluate(*term.term, lookup);
    return inner.value ? make(term.factor * *inner.value, inner.timed_out) : inner;
  }
};

}  // namespace

Reading evaluate(const plan::Term& term, const Lookup& lookup) { return std::visit(Evaluator{lookup}, term.node); }

}  // namespace expc::analysis
