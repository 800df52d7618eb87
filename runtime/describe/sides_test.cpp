#include "runtime/describe/sides.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/stats/distributions.h"
#include "tests/support/judge/study.h"

namespace expc::describe {
namespace {

using namespace judge::test;

plan::Plan small(unsigned repeat = 10) {
  plan::Plan plan = study(repeat, 0);
  plan.comparisons = {{"gain", "speedup(step_time)", "precision", "x", {"precision", "gpus"}, gainCells(), 0, ""}};
  return plan;
}

/// Trials of two points; `factor` multiplies fp32's times, `session_of` says where a block ran.
Records measured(double factor, unsigned blocks, uint64_t seed, unsigned per_session = 100, double session_noise = 0) {
  Records records;
  stats::NormalStream noise(seed), of_session(seed + 99);
  double place = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    if (block % per_session == 0) place = session_noise * of_session.next();
    const int64_t session = 1 + block / per_session;
    records.timed("fp64-1", block + 1, 0.1 * std::exp(place + 0.01 * noise.next()), session);
    records.timed("fp32-1", block + 1, 0.05 * factor * std::exp(place + 0.01 * noise.next()), session);
  }
  return records;
}

Sides compared(const plan::Plan& plan, const Records& before, const Records& after) {
  const judge::Index one(plan, before.results), other(plan, after.results);
  return compareSides(one, other);
}

const Shift& find(const Sides& sides, const std::string& subject, const std::string& label) {
  const auto found = std::ranges::find_if(
      sides.shifts, [&](const Shift& shift) { return shift.subject == subject && shift.label == label; });
  REQUIRE(found != sides.shifts.end());
  return *found;
}

TEST_CASE("a point that became slower moved for worse, and the comparison with it; others did not") {
  const Sides sides = compared(small(), measured(1, 10, 1), measured(1.5, 10, 2));
  const Shift& slow = find(sides, "step_time", "precision=fp32 gpus=1");
  CHECK(slow.moved);
  CHECK(slow.worse == true);
  CHECK(slow.ratio);
  CHECK(*slow.estimate == doctest::Approx(1.5).epsilon(0.02));
  CHECK(find(sides, "images_per_s", "precision=fp32 gpus=1").worse == true);
  CHECK_FALSE(find(sides, "step_time", "precision=fp64 gpus=1").moved);
  const Shift& gain = find(sides, "gain", "precision=fp32 gpus=1");
  CHECK(gain.moved);
  CHECK(*gain.estimate < 1);
  CHECK_FALSE(gain.worse);
  const Shift& memory = find(sides, "memory", "precision=fp32 gpus=1");
  CHECK_FALSE(memory.moved);
  CHECK(memory.interval->low == 1);
  CHECK(sides.tested == 5);
  CHECK_FALSE(sides.generalises());
}

TEST_CASE("a time of 0 on one side alone is no improvement, and leaves the comparison open") {
  Records dead = measured(1, 10, 2);
  for (store::Trial& trial : dead.results.trials)
    if (trial.place() == "fp32-1") trial.metrics["step_time"] = 0;
  const Sides sides = compared(small(), measured(1, 10, 1), dead);
  const Shift& shift = find(sides, "step_time", "precision=fp32 gpus=1");
  CHECK(shift.worse == false);
  CHECK(shift.zero);
  CHECK(shift.open);
  CHECK_FALSE(shift.ratio);
  const Sides back = compared(small(), dead, measured(1, 10, 1));
  CHECK(find(back, "step_time", "precision=fp32 gpus=1").worse == true);
  CHECK_FALSE(find(sides, "step_time", "precision=fp64 gpus=1").zero);
}

TEST_CASE(
    "what differs by no more than sessions may is apart in one on each side, and moves once more show that they do "
    "not") {
  const Sides few = compared(small(), measured(1, 10, 1), measured(1.1, 10, 2));
  const Shift& apart = find(few, "step_time", "precision=fp32 gpus=1");
  CHECK(apart.apart);
  CHECK_FALSE(apart.moved);
  CHECK(apart.worse == true);
  CHECK(apart.interval->low < 1);
  CHECK_FALSE(apart.by_session);
  const Sides more = compared(small(20), measured(1, 20, 1, 5), measured(1.1, 20, 2, 5));
  CHECK(find(more, "step_time", "precision=fp32 gpus=1").moved);
  CHECK(find(more, "step_time", "precision=fp32 gpus=1").by_session);
  // A history of sessions and a new one.
  CHECK(find(compared(small(20), measured(1, 20, 1, 5), measured(1.1, 10, 2)), "step_time", "precision=fp32 gpus=1")
            .moved);
}

TEST_CASE("sessions of the same that lie apart are no move, however few there are of them") {
  for (const unsigned sessions : {1u, 2u, 4u}) {
    unsigned moved = 0;
    constexpr unsigned kComparisons = 200;
    for (unsigned seed = 0; seed < kComparisons; ++seed) {
      const Sides sides = compared(small(6 * sessions), measured(1, 6 * sessions, 1000 + seed, 6, 0.02),
                                   measured(1, 6 * sessions, 5000 + seed, 6, 0.02));
      moved += std::ranges::any_of(sides.shifts, &Shift::moved);
    }
    CAPTURE(sessions);
    CHECK(moved <= 0.055 * kComparisons);
  }
}

TEST_CASE("an exact metric that is another constant moved, and costs the others nothing") {
  Records after = measured(1, 10, 2);
  for (store::Trial& trial : after.results.trials) trial.metrics["memory"] *= 2;
  const Sides sides = compared(small(), measured(1, 10, 1), after);
  CHECK(find(sides, "memory", "precision=fp64 gpus=1").moved);
  CHECK(*find(sides, "memory", "precision=fp64 gpus=1").estimate == doctest::Approx(2));
  CHECK(sides.tested == 5);
}

TEST_CASE("too few values are said, and are no test") {
  const Sides sides = compared(small(3), measured(1, 3, 1), measured(2, 3, 2));
  CHECK(sides.tested == 0);
  for (const Shift& shift : sides.shifts) {
    if (shift.subject == "memory") continue;
    CHECK_FALSE(shift.moved);
    CHECK_FALSE(shift.tellable);
  }
  CHECK_FALSE(sides.generalises());
  CHECK(sides.ofChance());
}

TEST_CASE("what sessions differ by is no move") {
  unsigned moved = 0;
  for (unsigned study = 0; study < 200; ++study) {
    const Sides sides =
        compared(small(20), measured(1, 20, 1000 + study, 4, 0.05), measured(1, 20, 5000 + study, 4, 0.05));
    CHECK(sides.generalises());
    CHECK(sides.before.sessions == 5);
    moved += std::ranges::any_of(sides.shifts, &Shift::moved);
  }
  CHECK(moved < 20);  // 5 % at most, of 200
}

/// Ten values of one metric at fp32-1, near `centre`.
Records around(const std::string& metric, double centre) {
  Records records;
  const TrialKind kind = metric == "accuracy" ? TrialKind::Quality : TrialKind::Timed;
  for (unsigned block = 0; block < 10; ++block)
    records.add("fp32-1", kind, block + 1, TrialStatus::Valid, {{metric, centre * (1 + 1e-4 * block)}});
  return records;
}

TEST_CASE("a difference that is a factor counts alike in both directions") {
  struct Case {
    const char* metric;
    double low, high;
    bool moves;
  };
  for (const auto& [metric, low, high, moves] :
       {Case{"accuracy", 0.7, 0.9, true}, Case{"accuracy", 0.75, 0.9, false}, Case{"step_time", -130, -100, true},
        Case{"step_time", -120, -100, false}}) {
    CAPTURE(low);
    const plan::Plan plan = study(10, 10);
    const Shift up = find(compared(plan, around(metric, low), around(metric, high)), metric, "precision=fp32 gpus=1"),
                down = find(compared(plan, around(metric, high), around(metric, low)), metric, "precision=fp32 gpus=1");
    CHECK_FALSE(up.ratio);
    CHECK(up.moved == moves);
    CHECK(up.apart == !moves);
    CHECK(down.moved == moves);
    CHECK(down.apart == !moves);
    CHECK(up.interval->low == doctest::Approx(-down.interval->high));
    CHECK(up.interval->high == doctest::Approx(-down.interval->low));
  }
}

TEST_CASE("a comparison that subtracts may lie as far apart as what it subtracts") {
  plan::Plan plan = small();
  for (const char* metric_name : {"step_time", "memory"}) {
    plan::Cell cell;
    cell.levels = levels("fp32", 1);
    cell.term = term(plan::OperationTerm{plan::OperationTerm::Op::Difference,
                                         {metric(metric_name, {"fp32-1"}), metric(metric_name, {"fp64-1"})}});
    cell.estimator = plan::Estimator::PairedDifference;
    cell.points = {{"fp32-1"}, {"fp64-1"}};
    plan.comparisons.push_back(
        {std::string("more ") + metric_name, "", "precision", "", {"precision", "gpus"}, {cell}});
  }
  const auto side = [](double step_time, double memory) {
    Records records;
    for (unsigned block = 0; block < 10; ++block) {
      records.timed("fp64-1", block + 1, 12e-3 + 1e-6 * block);
      records.timed("fp32-1", block + 1, step_time + 2e-6 * block).metrics["memory"] += memory;
    }
    return records;
  };
  const auto more = [&](double step_time, double memory, const char* subject) {
    return find(compared(plan, side(12.01e-3, 64), side(step_time, memory)), subject, "precision=fp32 gpus=1");
  };
  const Shift little = more(12.24e-3, 64, "more step_time");  // twenty times as large, of times that are 1.02x
  CHECK_FALSE(little.ratio);
  CHECK(little.apart);
  CHECK_FALSE(little.moved);
  CHECK(more(16e-3, 64, "more step_time").moved);
  const Shift exact = more(12e-3, 96, "more memory");
  CHECK(exact.constant);
  CHECK(exact.moved);
  CHECK(*exact.estimate == 32);
}

TEST_CASE("what one side alone has is counted, not compared") {
  Records before = measured(1, 10, 1);
  std::erase_if(before.results.trials, [](const store::Trial& trial) { return trial.place().point == "fp32-1"; });
  const Sides sides = compared(small(), before, measured(1, 10, 2));
  CHECK(sides.only_after == 3);
  CHECK(sides.only_before == 0);
}

}  // namespace
}  // namespace expc::describe
