#include <doctest/doctest.h>

#include "runtime/rehearsal/rehearsal.h"

using namespace expc;
using rehearsal::leastDeviceSeconds;
using rehearsal::leastStep;

namespace {

plan::Rates rates() {
  plan::Rates rates;
  rates.products = {{"bf16", 1e15}, {"fp32", 5e13}};
  rates.memory = 2e12;
  rates.link = 4e11;
  rates.host_link = 5e10;
  return rates;
}

protocol::Rehearsed rehearsed(unsigned ranks, unsigned steps = 2) {
  protocol::Rehearsed all;
  all.steps = steps;
  all.ranks.resize(ranks);
  return all;
}

}  // namespace

TEST_CASE("a step takes as long as its products at the rate of their types, one after the other") {
  protocol::Rehearsed seen = rehearsed(1);
  seen.ranks[0].operations = {{"bf16", 4e15}, {"fp32", 1e14}, {"fp8", 1e20}};  // of fp8 no rate is known
  seen.ranks[0].memory_bytes = 2e12;                                           // 1 s, beside 4 + 2
  const auto least = leastStep(seen, 1, rates());
  REQUIRE(least);
  CHECK(least->seconds == doctest::Approx(3));  // two steps
  CHECK(toString(least->limit) == "products");
  SUBCASE("a rank that drives two devices divides them") {
    CHECK(leastStep(seen, 2, rates())->seconds == doctest::Approx(1.5));
  }
  SUBCASE("without a rate they cost nothing, and memory bounds") {
    plan::Rates some = rates();
    some.products.clear();
    const auto by_memory = leastStep(seen, 1, some);
    REQUIRE(by_memory);
    CHECK(by_memory->seconds == doctest::Approx(0.5));
    CHECK(toString(by_memory->limit) == "memory");
  }
  SUBCASE("of a system that says nothing nothing is known") { CHECK_FALSE(leastStep(seen, 1, plan::Rates{})); }
}

TEST_CASE("the slowest rank bounds a step, by what crosses its link") {
  protocol::Rehearsed seen = rehearsed(4, 1);
  seen.ranks[2].collectives = {{"all_gather", {3, 4'000'000'000'000}}, {"all_reduce", {1, 1'000'000'000'000}}};
  const auto least = leastStep(seen, 4, rates());
  REQUIRE(least);
  CHECK(toString(least->limit) == "link");
  CHECK(least->seconds == doctest::Approx((3e12 + 1e12) / 4e11));
  seen.ranks[0].to_device = {1, 1'000'000'000'000};
  seen.ranks[0].from_device = {1, 3'000'000'000'000};  // the link to the host has two directions
  CHECK(toString(leastStep(seen, 4, rates())->limit) == "host link");
  CHECK(leastStep(seen, 4, rates())->seconds == doctest::Approx(60));
}

TEST_CASE("a rank alone sends nothing to others") {
  protocol::Rehearsed seen = rehearsed(1, 1);
  seen.ranks[0].collectives = {{"all_reduce", {1, 1'000'000'000'000}}};
  CHECK_FALSE(leastStep(seen, 1, rates()));
}

TEST_CASE("a plan takes the steps of its points at least, on all their devices") {
  plan::Plan plan;
  plan.rates = rates();
  plan.points.resize(3);
  for (size_t i = 0; i < 3; ++i) plan.points[i].id = std::string(1, char('a' + i));
  plan.points[0].parameters["gpus"] = 2;
  plan.points[1].expected_infeasible = "too large";  // not started
  plan.design.kinds = {{plan::TrialKind::Timed, 10, 10, {}, llvm::json::Object{{"steps", 8}, {"warmup", 2}}},
                       {plan::TrialKind::Quality, 1, 1, {}, llvm::json::Object{{"epochs", 20}}}};
  rehearsal::Study study;
  for (const char* id : {"a", "b"}) {
    rehearsal::Point point;
    point.point = id;
    point.rehearsed = rehearsed(2, 1);
    point.rehearsed->ranks[0].operations["bf16"] = 1e15;
    study.put(point);
  }
  CHECK(leastDeviceSeconds(plan, study).value() == doctest::Approx(1.0 * 10 * 10 * 2));
  // Twenty epochs of ten steps, of which a tenth of the rows may be held out.
  study.points[0].outcome = rehearsal::Outcome::Runs;
  study.points[0].rehearsed->epoch_steps = 10;
  CHECK(leastDeviceSeconds(plan, study).value() == doctest::Approx(1.0 * 10 * 10 * 2 + 180 * 2));
  study.points.clear();
  CHECK_FALSE(leastDeviceSeconds(plan, study));
}
