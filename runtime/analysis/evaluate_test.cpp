#include "runtime/analysis/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "runtime/analysis/test_study.h"

namespace expc::analysis {
namespace {

using test::metric;
using test::term;

Reading value(const plan::TermPtr& node, const std::map<std::string, double>& values) {
  return evaluate(*node, [&](const plan::MetricTerm& wanted) -> Reading {
    const auto found = values.find(wanted.point);
    if (found == values.end()) return {std::nullopt, false, "no " + wanted.metric};
    return {found->second, std::isinf(found->second), ""};
  });
}

}  // namespace

TEST_CASE("terms compute what they say") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  const std::map<std::string, double> values = {{"a", 6}, {"b", 4}};
  CHECK(value(term(plan::ConstantTerm{3}), values).value == 3);
  CHECK(value(a, values).value == 6);
  CHECK(value(term(plan::QuotientTerm{a, b}), values).value == 1.5);
  CHECK(value(term(plan::RatioTerm{a, b}), values).value == 1.5);
  CHECK(value(term(plan::DifferenceTerm{a, b}), values).value == 2);
  CHECK(value(term(plan::ScaleTerm{0.5, term(plan::RatioTerm{a, b})}), values).value == 0.75);
}

TEST_CASE("a term without a value says why") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  CHECK(value(term(plan::RatioTerm{a, b}), {{"a", 6}}).why == "no m");
  CHECK(value(term(plan::RatioTerm{a, b}), {{"a", 6}, {"b", 0}}).why == "a ratio needs values above 0");
  CHECK(value(term(plan::RatioTerm{a, b}), {{"a", -6}, {"b", 2}}).why == "a ratio needs values above 0");
  CHECK(value(term(plan::QuotientTerm{a, b}), {{"a", 0}, {"b", 0}}).why == "0 divided by 0");
  CHECK(value(a, {{"a", NAN}}).why == "m is not a number");
}

TEST_CASE("timeouts are worse than every value") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  // A time: +inf. Baseline over treated.
  CHECK(value(term(plan::RatioTerm{a, b}), {{"a", 6}, {"b", INFINITY}}).value == 0);
  CHECK(value(term(plan::RatioTerm{a, b}), {{"a", INFINITY}, {"b", 6}}).value == INFINITY);
  // A rate: -inf, which is 0 in a ratio. Treated over baseline.
  CHECK(value(term(plan::RatioTerm{a, b}), {{"a", -INFINITY}, {"b", 6}}).value == 0);
  CHECK(value(term(plan::RatioTerm{a, b}), {{"a", 6}, {"b", -INFINITY}}).value == INFINITY);
  CHECK(value(term(plan::DifferenceTerm{a, b}), {{"a", -INFINITY}, {"b", 6}}).value == -INFINITY);
  // Both: no order.
  for (const double worst : {INFINITY, -INFINITY}) {
    CHECK_FALSE(value(term(plan::RatioTerm{a, b}), {{"a", worst}, {"b", worst}}).value);
    CHECK_FALSE(value(term(plan::DifferenceTerm{a, b}), {{"a", worst}, {"b", worst}}).value);
  }
}

}  // namespace expc::analysis
