#include "runtime/describe/times.h"

#include <doctest/doctest.h>

namespace expc::describe {
namespace {

plan::Point point(const std::string& id, int64_t gpus) {
  plan::Point made;
  made.id = id;
  made.parameters = json::Object{{"gpus", gpus}, {"batch", 64}};
  return made;
}

plan::KindDesign kind(plan::TrialKind kind, unsigned repeat, json::Object settings) {
  plan::KindDesign made;
  made.kind = kind;
  made.repeat = repeat;
  made.settings = std::move(settings);
  return made;
}

}  // namespace

TEST_CASE("trials take what a reference publishes of an epoch, of a step or of images") {
  plan::Plan plan;
  plan.points = {point("one", 1), point("four", 4)};
  plan.design.kinds = {kind(plan::TrialKind::Timed, 10, json::Object{{"steps", 90}, {"warmup", 10}}),
                       kind(plan::TrialKind::Quality, 3, json::Object{{"epochs", 5}})};
  CHECK_FALSE(publishedTime(plan));
  plan.references = {
      {"table", "t.csv", {{"one", "epoch_time", 20}, {"one", "images_per_s", 640}, {"four", "step_time", 0.5}}}};
  const auto time = publishedTime(plan);
  REQUIRE(time);
  CHECK(time->seconds == doctest::Approx(10 * 100 * 0.1 + 3 * 5 * 20 + 10 * 100 * 0.5));
  CHECK(time->device_seconds == doctest::Approx(100 + 300 + 4 * 500));
  CHECK(time->known == 3);  // no time is published for an epoch on four GPUs
  CHECK(time->of == 4);
  CHECK_FALSE(time->stated);
  plan.design.kinds[0].takes_seconds = 30;
  CHECK(publishedTime(plan)->seconds == doctest::Approx(10 * 30 * 2 + 300));
  CHECK(publishedTime(plan)->stated);
  plan.points[1].unavailable = "one card";
  CHECK(publishedTime(plan)->of == 2);
}

}  // namespace expc::describe
