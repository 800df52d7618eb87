#include "runtime/plan/sketch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/plan/evaluate.h"

namespace expc::plan {
namespace {

using Take = Reduction::Take;

Reduction percentile(double number) {
  Reduction made(Take::Percentile);
  made.percentile = number;
  return made;
}

std::vector<double> drawn(size_t count, double spread) {
  std::mt19937 stream(7);
  std::lognormal_distribution<double> draw(-4, spread);
  std::vector<double> values(count);
  for (double& value : values) value = draw(stream);
  return values;
}

}  // namespace

TEST_CASE("a sketch has percentiles, sums and means within its error") {
  for (const double spread : {0.1, 1.0, 8.0}) {
    const std::vector<double> values = drawn(20000, spread), sketch = sketchOf(values);
    CHECK(sketch.size() <= 2 * kMostBuckets + 1);
    CHECK(sketch[0] >= kSketchError);
    CHECK(sketch[0] < 0.05);
    for (const Reduction& one : {percentile(1), percentile(50), percentile(99), percentile(99.9), Reduction(Take::Mean),
                                 Reduction(Take::Min), Reduction(Take::Max), Reduction(Take::Sum)}) {
      const double wanted = *reduced(values, one);
      CHECK(std::abs(*reducedSketch(sketch, one) - wanted) <= sketch[0] * wanted * (1 + 1e-9));
    }
    CHECK(*reducedSketch(sketch, Take::Count) == 20000);
    CHECK(countOf(sketch) == 20000);
    CHECK(percentilesOf(sketch).size() == 99);
    CHECK(percentilesOf(sketch)[49] == doctest::Approx(*reducedSketch(sketch, Take::Median)));
  }
  CHECK(sketchOf(drawn(20000, 0.3))[0] == kSketchError);
}

TEST_CASE("a sketch keeps zero and the sign") {
  const std::vector<double> sketch = sketchOf(std::vector<double>{-2, -1, 0, 0, 3});
  const auto buckets = bucketsOf(sketch);
  REQUIRE(buckets.size() == 4);
  CHECK(buckets[0].first == doctest::Approx(-2).epsilon(kSketchError));
  CHECK(buckets[1].first == doctest::Approx(-1).epsilon(kSketchError));
  CHECK(buckets[2] == std::pair(0.0, uint64_t{2}));
  CHECK(buckets[3].first == doctest::Approx(3).epsilon(kSketchError));
  CHECK(*reducedSketch(sketch, Take::Median) == 0);
}

TEST_CASE("a value that is not finite makes all of a sketch diverge, and what is none reads as that") {
  CHECK(std::isnan(*reducedSketch(sketchOf(std::vector<double>{1, INFINITY}), percentile(50))));
  for (const std::vector<double>& broken :
       {std::vector<double>{}, {0.005}, {0.005, 3}, {2, 1, 1}, {0.005, 1, -4}, {0.005, 1, 1, 0, 1}, {NAN, NAN, NAN}})
    CHECK(bucketsOf(broken).empty());
  CHECK(percentilesOf({}).empty());
}

TEST_CASE("absence is 1 where trials lack a value and 0 where they have one") {
  const TermPtr term = termOf(AbsentTerm{termOf(MetricTerm{"energy", {"p"}})});
  const auto at = [&](const Reading& reading) { return evaluate(*term, [&](const MetricTerm&) { return reading; }); };
  CHECK(at({3.0}).value == 0);
  CHECK(at({std::nullopt, {}, because({.code = Reason::NotInOutput, .name = "energy"})}).value == 1);
  CHECK(!at({std::nullopt, {}, because({.code = Reason::DivisionByZero})}).value);
  CHECK(metricTerms(*term).size() == 1);
}

}  // namespace expc::plan
