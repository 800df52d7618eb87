#include <doctest/doctest.h>

#include <cmath>

#include "runtime/worker/model/optimizer.h"
#include "tests/parity/fixtures.h"

namespace expc::parity {
namespace {

optimizer::ScheduleKind kindOf(StringRef name) {
  if (name == "step") return optimizer::ScheduleKind::Step;
  if (name == "cosine") return optimizer::ScheduleKind::Cosine;
  REQUIRE(name == "constant");
  return optimizer::ScheduleKind::Constant;
}

TEST_CASE("rates are those of torch's LinearLR followed by ConstantLR, StepLR or CosineAnnealingLR") {
  const auto cases = readJson("schedules.json");
  REQUIRE(cases.getAsArray()->size() == 6);
  for (const auto& value : *cases.getAsArray()) {
    const auto& object = *value.getAsObject();
    CAPTURE(object.getString("kind")->str());
    const auto rates = numbers(*object.getArray("rates"));
    optimizer::Schedule schedule;
    schedule.kind = kindOf(*object.getString("kind"));
    schedule.base = *object.getNumber("base");
    schedule.epoch_steps = *object.getInteger("epoch");
    schedule.warmup_steps = *object.getInteger("warmup");
    schedule.total_steps = int64_t(rates.size());
    for (size_t step = 0; step < rates.size(); ++step) {
      CAPTURE(step);
      // torch multiplies from step to step, we compute each rate afresh: the same to rounding.
      CHECK(std::abs(schedule.rate(int64_t(step)) - rates[step]) < 1e-14 * schedule.base);
    }
  }
}

}  // namespace
}  // namespace expc::parity
