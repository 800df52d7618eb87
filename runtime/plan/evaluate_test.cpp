#include "runtime/plan/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

namespace expc::plan {
namespace {

TermPtr term(auto node) { return std::make_shared<const Term>(Term{std::move(node)}); }
TermPtr metric(std::string name, std::string point) { return term(MetricTerm{std::move(name), std::move(point)}); }

Reading value(const TermPtr& node, const std::map<std::string, double>& values) {
  return evaluate(*node, [&](const MetricTerm& wanted) -> Reading {
    const auto found = values.find(wanted.place.point);
    if (found == values.end()) return {std::nullopt, {}, because({.code = Reason::NotInTrials, .name = wanted.metric})};
    return {found->second, {.timed_out = std::isinf(found->second)}};
  });
}

/// Why a reading has no value.
struct Absent {
  Reason::Code code;
  std::string name = "";
  bool operator==(const Absent&) const = default;
};
Absent absent(const Reading& reading) {
  REQUIRE(reading.why);
  return {reading.why->code, reading.why->name};
}

}  // namespace

TEST_CASE("terms compute what they say") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  const std::map<std::string, double> values = {{"a", 6}, {"b", 4}};
  CHECK(value(term(ConstantTerm{3}), values).value == 3);
  CHECK(value(a, values).value == 6);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Quotient, {a, b}}), values).value == 1.5);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), values).value == 1.5);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Difference, {a, b}}), values).value == 2);
  CHECK(value(term(ScaleTerm{0.5, term(OperationTerm{OperationTerm::Op::Ratio, {a, b}})}), values).value == 0.75);
}

TEST_CASE("aggregates compute what they say, and have no value where a part has none") {
  using enum AggregateTerm::Function;
  const auto a = metric("m", "a"), b = metric("m", "b"), c = metric("m", "c");
  const std::map<std::string, double> values = {{"a", 2}, {"b", 8}, {"c", 4}};
  const auto of = [&](AggregateTerm::Function function, std::vector<TermPtr> parts, std::vector<TermPtr> weights = {}) {
    return value(term(AggregateTerm{function, std::move(parts), std::move(weights)}), values);
  };
  CHECK(*of(Geomean, {a, b}).value == doctest::Approx(4));
  CHECK(of(Mean, {a, b, c}).value == doctest::Approx(14.0 / 3));
  CHECK(of(Sum, {a, b, c}).value == 14);
  CHECK(of(Median, {a, b, c}).value == 4);
  CHECK(of(Median, {a, b}).value == 5);
  CHECK(of(Min, {b, a}).value == 2);
  CHECK(of(Max, {a, b}).value == 8);
  CHECK(of(Min, {b}).value == 8);
  // 2 and 8, of which 8 counts three times: 2^(1/4) * 8^(3/4).
  const auto one = term(ConstantTerm{1}), three = term(ConstantTerm{3});
  CHECK(*of(Geomean, {a, b}, {one, three}).value == doctest::Approx(std::exp2(2.5)));
  CHECK(*of(Mean, {a, b}, {one, three}).value == doctest::Approx(6.5));
  CHECK(absent(of(Mean, {a, b}, {one, term(ConstantTerm{0})})) == Absent{Reason::NotPositive});
  CHECK(absent(of(Geomean, {a, term(ConstantTerm{-1})})) == Absent{Reason::NotPositive});
  CHECK(absent(of(Sum, {a, metric("m", "none")})) == Absent{Reason::NotInTrials, "m"});
}

TEST_CASE("the worst value of a part is that of an aggregate") {
  const auto parts = std::vector<TermPtr>{metric("m", "a"), metric("m", "b")};
  for (const double worst : {INFINITY, -INFINITY}) {
    const std::map<std::string, double> values = {{"a", 2}, {"b", worst}};
    const Reading sum = value(term(AggregateTerm{AggregateTerm::Function::Sum, parts, {}}), values);
    CHECK(sum.value == worst);
    CHECK(sum.worst.timed_out);
    // A rate is never below zero.
    const Reading geomean = value(term(AggregateTerm{AggregateTerm::Function::Geomean, parts, {}}), values);
    CHECK(geomean.value == std::max(0.0, worst));
  }
}

TEST_CASE("an aggregated metric pairs nothing, an aggregated comparison does") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  Cell cell;
  cell.points = {"a", "b"};
  cell.term = term(AggregateTerm{AggregateTerm::Function::Sum, {a, b}, {}});
  CHECK_FALSE(isPaired(cell));
  cell.term = term(
      AggregateTerm{AggregateTerm::Function::Geomean, {term(OperationTerm{OperationTerm::Op::Ratio, {a, b}})}, {}});
  CHECK(isPaired(cell));
}

TEST_CASE("sums, products and series compute what they say") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  const std::map<std::string, double> values = {{"a", 6}, {"b", 4}};
  CHECK(value(term(OperationTerm{OperationTerm::Op::Sum, {a, b}}), values).value == 10);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Product, {a, b}}), values).value == 24);
  const auto three = term(ConstantTerm{3});
  CHECK(value(term(OperationTerm{OperationTerm::Op::Sum, {a, b, three}}), values).value == 13);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Max, {three, a, b}}), values).value == 6);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Min, {a, three, b}}), values).value == 3);
  CHECK(absent(value(term(OperationTerm{OperationTerm::Op::Max, {a, metric("m", "c"), b}}), values)) ==
        Absent{Reason::NotInTrials, "m"});
  CHECK(absent(value(term(OperationTerm{OperationTerm::Op::Sum, {a, metric("m", "c")}}), values)) ==
        Absent{Reason::NotInTrials, "m"});

  const std::vector<double> rising = {0.5, 0.8, 0.97, 0.96}, other = {0.4, 0.9, 0.97}, none;
  const auto seriesOf = [&](const TermPtr& node) {
    return evaluate(*node, [&](const MetricTerm& wanted) -> Reading {
      if (wanted.place.point == "late") return {INFINITY, {.timed_out = true}};
      if (wanted.place.point == "plain") return {1.0};
      return {0.0,
              {},
              nullptr,
              wanted.place.point == "rising" ? &rising
              : wanted.place.point == "none" ? &none
                                             : &other};
    });
  };
  const auto first = [&](const char* point, double bound) {
    return term(FirstTerm{{"m", point}, {Relation::GreaterEqual, bound, 0, ""}});
  };
  CHECK(seriesOf(first("rising", 0.97)).value == 3);
  CHECK(seriesOf(first("rising", 0.4)).value == 1);
  CHECK(std::isinf(*seriesOf(first("rising", 0.99)).value));
  CHECK_FALSE(seriesOf(first("rising", 0.99)).worst.timed_out);
  CHECK(seriesOf(first("late", 0.9)).worst.timed_out);
  CHECK(absent(seriesOf(first("plain", 0.9))) == Absent{Reason::NoSeries, "m"});
  const auto gap = [&](const char* x, const char* y) { return term(GapTerm{{"m", x}, {"m", y}}); };
  CHECK(*seriesOf(gap("rising", "other")).value == doctest::Approx(0.1));
  CHECK(std::isinf(*seriesOf(gap("late", "other")).value));
  CHECK(absent(seriesOf(gap("rising", "none"))) == Absent{Reason::NoCommonPlace, "m"});
  // Neither of a pair got there: no ratio.
  CHECK(
      absent(seriesOf(term(OperationTerm{OperationTerm::Op::Ratio, {first("rising", 0.99), first("other", 0.99)}}))) ==
      Absent{Reason::NeitherReached});
  CHECK(metricTerms(*term(OperationTerm{OperationTerm::Op::Sum, {gap("a", "b"), first("c", 1)}})).size() == 3);
}

TEST_CASE("a reduction makes one number of a series") {
  using Take = Reduction::Take;
  const std::vector<double> latency = {100, 4, 1, 3, 2};
  const auto of = [&](Reduction reduction) { return reduced(latency, reduction); };
  const auto percentile = [](double number, uint64_t skip = 0, uint64_t first = 0, uint64_t last = 0) {
    Reduction reduction(Take::Percentile);
    reduction.percentile = number, reduction.skip = skip, reduction.first = first, reduction.last = last;
    return reduction;
  };
  CHECK(of(Take::Median) == 3);
  CHECK(of(Take::Mean) == 22);
  CHECK(of(Take::Sum) == 110);
  CHECK(of(Take::Min) == 1);
  CHECK(of(Take::Max) == 100);
  CHECK(of(Take::Last) == 2);
  CHECK(of(Take::Count) == 5);
  // NumPy gives these values.
  CHECK(*of(percentile(50)) == 3);
  CHECK(*of(percentile(90)) == doctest::Approx(61.6));
  CHECK(*of(percentile(99.9)) == doctest::Approx(99.616));
  CHECK(*of(percentile(50, 1)) == 2.5);
  CHECK(*of(percentile(50, 0, 2)) == 52);
  CHECK(*of(percentile(50, 0, 0, 2)) == 2.5);
  CHECK(*of(percentile(50, 1, 2)) == 2.5);
  CHECK(!of(percentile(50, 5)));
  CHECK(std::isnan(*reduced({1, INFINITY}, percentile(1))));
  CHECK(*reduced({INFINITY, 1}, percentile(50, 1)) == 1);
  CHECK(leastValues(percentile(99.9)) == 1000);
  CHECK(leastValues(percentile(99)) == 100);
  CHECK(leastValues(percentile(0.1)) == 1000);
  CHECK(leastValues(Take::Max) == 1);
  CHECK(toString(percentile(99.9)) == "p99.9");

  const auto term = termOf(ReduceTerm{{"latency", ""}, percentile(50, 9)});
  const auto read = [&](Reading reading) { return evaluate(*term, [&](const MetricTerm&) { return reading; }); };
  CHECK(absent(read({.value = 2, .series = &latency})) == Absent{Reason::SeriesTooShort, "latency"});
  CHECK(absent(read({.value = 2})) == Absent{Reason::NoSeries, "latency"});
  CHECK(read({.value = INFINITY, .worst = {.timed_out = true}}).worst.timed_out);
  const std::vector<double> diverged = {1, NAN, 3};
  CHECK(evaluate(*termOf(ReduceTerm{{"latency", ""}, Take::Max}), [&](const MetricTerm&) {
          return Reading{.value = 3, .series = &diverged};
        }).worst.diverged);
}

TEST_CASE("a derived metric reads numbers among the parameters of its point") {
  const auto rate = term(OperationTerm{OperationTerm::Op::Quotient, {term(ParameterTerm{"batch"}), metric("m", "")}});
  const auto at = [&](const json::Object& parameters) {
    return evaluate(*rate, [](const MetricTerm&) -> Reading { return {0.5}; }, &parameters);
  };
  CHECK(at(json::Object{{"batch", 64}}).value == 128);
  CHECK(absent(at(json::Object{{"other", 64}})) == Absent{Reason::NoParameter, "batch"});  // not active there
}

TEST_CASE("a term without a value says why") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  CHECK(absent(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", 6}})) ==
        Absent{Reason::NotInTrials, "m"});
  CHECK(absent(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", 6}, {"b", 0}})) ==
        Absent{Reason::NotPositive});
  CHECK(absent(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", -6}, {"b", 2}})) ==
        Absent{Reason::NotPositive});
  CHECK(absent(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", 0}, {"b", 100}})) ==
        Absent{Reason::NotPositive});
  for (const double above : {6, 0})
    CHECK(absent(value(term(OperationTerm{OperationTerm::Op::Quotient, {a, b}}), {{"a", above}, {"b", 0}})) ==
          Absent{Reason::DivisionByZero});
  CHECK(absent(value(a, {{"a", NAN}})) == Absent{Reason::NotANumber, "m"});
}

TEST_CASE("an element of a series that is not finite has diverged at its place") {
  const std::vector<double> loss = {3, 2, NAN, -INFINITY}, other = {3.1, 2, 1.5, 1}, lost = {3, 2, INFINITY, 1};
  const auto read = [&](const TermPtr& node) {
    return evaluate(*node, [&](const MetricTerm& wanted) -> Reading {
      const auto& series = wanted.place.point == "loss" ? loss : wanted.place.point == "lost" ? lost : other;
      return {0.0, {}, nullptr, &series};
    });
  };
  const auto first = [&](double bound) {
    return read(term(FirstTerm{{"m", "loss"}, {Relation::LessEqual, bound, 0, ""}}));
  };
  CHECK(first(2).value == 2);
  CHECK(first(1).value == INFINITY);  // -inf is no good news
  CHECK(first(1).worst.never);
  const auto gap = [&](const char* x, const char* y) { return read(term(GapTerm{{"m", x}, {"m", y}})); };
  CHECK(gap("loss", "other").value == INFINITY);
  CHECK(gap("loss", "other").worst.diverged);
  CHECK(absent(gap("loss", "lost")) == Absent{Reason::BothWorst});  // both at one place
}

TEST_CASE("timeouts are worse than every value") {
  const auto a = metric("m", "a"), b = metric("m", "b");
  // A time: +inf. Baseline over treated.
  CHECK(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", 6}, {"b", INFINITY}}).value == 0);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", INFINITY}, {"b", 6}}).value == INFINITY);
  // A rate: -inf, which is 0 in a ratio. Treated over baseline.
  CHECK(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", -INFINITY}, {"b", 6}}).value == 0);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", 6}, {"b", -INFINITY}}).value == INFINITY);
  CHECK(value(term(OperationTerm{OperationTerm::Op::Difference, {a, b}}), {{"a", -INFINITY}, {"b", 6}}).value ==
        -INFINITY);
  // Both: no order.
  for (const double worst : {INFINITY, -INFINITY}) {
    CHECK_FALSE(value(term(OperationTerm{OperationTerm::Op::Ratio, {a, b}}), {{"a", worst}, {"b", worst}}).value);
    CHECK_FALSE(value(term(OperationTerm{OperationTerm::Op::Difference, {a, b}}), {{"a", worst}, {"b", worst}}).value);
  }
}

}  // namespace expc::plan
