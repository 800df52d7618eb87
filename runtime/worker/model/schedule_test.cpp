#include <doctest/doctest.h>

#include "runtime/worker/model/optimizer.h"

using expc::optimizer::Schedule;
using expc::optimizer::ScheduleKind;

TEST_CASE("a warm-up rises in a straight line from a hundredth and ends at the base rate") {
  const Schedule schedule{ScheduleKind::Constant, 2.0, 10, 4, 20};
  CHECK(schedule.rate(0) == doctest::Approx(0.02));
  CHECK(schedule.rate(1) == doctest::Approx(0.02 + 1.98 / 4));
  CHECK(schedule.rate(3) == doctest::Approx(0.02 + 1.98 * 3 / 4));
  CHECK(schedule.rate(4) == 2.0);
  CHECK(schedule.rate(19) == 2.0);
}

TEST_CASE("steps are counted in epochs from the end of the warm-up") {
  const Schedule schedule{ScheduleKind::Step, 1.0, 10, 3, 100};
  CHECK(schedule.rate(3) == 1.0);
  CHECK(schedule.rate(12) == 1.0);
  CHECK(schedule.rate(13) == doctest::Approx(0.98));
  CHECK(schedule.rate(99) == doctest::Approx(0.98 * 0.98 * 0.98 * 0.98 * 0.98 * 0.98 * 0.98 * 0.98 * 0.98));
}

TEST_CASE("half a cosine falls from the base rate to nearly nothing in the last step") {
  const Schedule schedule{ScheduleKind::Cosine, 1.0, 10, 20, 120};
  CHECK(schedule.rate(20) == 1.0);
  CHECK(schedule.rate(70) == doctest::Approx(0.5));
  CHECK(schedule.rate(119) > 0);
  CHECK(schedule.rate(119) < 0.001);
  for (int64_t step = 21; step < 120; ++step) CHECK(schedule.rate(step) < schedule.rate(step - 1));
}

TEST_CASE("a training shorter than its warm-up never reaches the base rate") {
  const Schedule schedule{ScheduleKind::Cosine, 1.0, 10, 30, 30};
  CHECK(schedule.rate(29) < 1.0);
  CHECK(schedule.rate(29) > 0.9);
}
