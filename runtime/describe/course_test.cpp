#include "runtime/describe/course.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/store/match.h"
#include "tests/support/judge/study.h"

namespace expc::describe {
namespace {

using namespace judge::test;

/// Sessions of one store, a trial at a time: each is a block of its own, started at its number.
struct Sessions {
  plan::Plan plan = study(4, 0);
  store::History history = {};

  store::Trial& add(int64_t session, TrialStatus status, std::map<std::string, double> metrics = {},
                    const std::string& point = "fp32-1") {
    store::TrialKey key;
    key.place = point;
    key.kind = TrialKind::Timed;
    key.settings = store::settingsText(plan, key.kind);
    store::Trial trial;
    trial.id = trial.block = int64_t(history.trials.size()) + 1;
    trial.session = session;
    trial.started = double(trial.id);
    trial.status = status;
    trial.limit = trial.seconds = 2;
    trial.metrics = std::move(metrics);
    trial.key = std::make_shared<const store::TrialKey>(std::move(key));
    if (status != TrialStatus::Valid) trial.reason = std::string(store::toString(status));
    history.trials.push_back(std::move(trial));
    return history.trials.back();
  }
  store::Trial& timed(int64_t session, double step_time) {
    store::Trial& trial =
        add(session, TrialStatus::Valid, {{"step_time", step_time}, {"images_per_s", 64 / step_time}});
    trial.seconds = 1;
    return trial;
  }
  Course course(const std::string& metric = "step_time") const {
    const std::vector<Course> all = courses(plan, {&history, 1}, metric);
    REQUIRE(all.size() == 1);
    return all[0];
  }
};

TEST_CASE("a timeout is the worst value of its session") {
  Sessions sessions;
  for (int i = 0; i < 4; ++i) sessions.timed(1, 0.1 + 0.01 * i);
  sessions.timed(2, 0.1);
  for (int i = 0; i < 3; ++i) sessions.add(2, TrialStatus::Timeout);
  for (int i = 0; i < 4; ++i) sessions.add(3, TrialStatus::Timeout);
  const Course slower = sessions.course(), fewer = sessions.course("images_per_s");
  REQUIRE(slower.stays.size() == 3);
  CHECK(slower.lost.empty());
  CHECK(slower.stays[0].timeouts == 0);
  CHECK(slower.stays[1].n == 4);
  CHECK(slower.stays[1].timeouts == 3);
  CHECK(slower.stays[1].median == INFINITY);
  CHECK(slower.stays[2].n == 4);
  CHECK(slower.stays[2].median == INFINITY);
  CHECK(fewer.stays[2].median == -INFINITY);
}

TEST_CASE("timeouts of the newest sessions are a change of the level") {
  Sessions sessions;
  for (int session = 1; session <= 10; ++session) sessions.timed(session, 0.1 + 0.001 * (session * 7 % 5));
  for (int session = 11; session <= 20; ++session) sessions.add(session, TrialStatus::Timeout);
  const Course course = sessions.course();
  REQUIRE(course.changes.size() == 1);
  CHECK(course.changes[0].at == 10);
}

TEST_CASE("a newest session that is slower than all others is outlying, and a level that creeps up drifts") {
  Sessions sessions;
  for (int session = 1; session <= 19; ++session) sessions.timed(session, 0.1 + 0.001 * (session * 7 % 5));
  CHECK_FALSE(sessions.course().outlying);
  sessions.timed(20, 0.12);
  const Course slower = sessions.course(), fewer = sessions.course("images_per_s");
  CHECK(slower.changes.empty());
  REQUIRE(slower.outlying);
  CHECK(slower.outlying->sessions == 1);
  CHECK(slower.outlying->worse == true);
  CHECK(slower.outlying->usual == doctest::Approx(0.102));
  CHECK(fewer.outlying->worse == true);
  Sessions creeping;
  for (int session = 1; session <= 20; ++session)
    creeping.timed(session, 0.1 + 0.002 * session + 0.002 * (session * 7 % 5));
  const Course drifting = creeping.course();
  CHECK(drifting.changes.empty());
  REQUIRE(drifting.drift);
  CHECK(drifting.drift->after > drifting.drift->before);
}

TEST_CASE("a timeout below what a valid trial took is no value, and none is one that was tried again") {
  Sessions sessions;
  sessions.timed(1, 0.1);
  sessions.add(2, TrialStatus::Timeout).limit = 0.5;
  Course course = sessions.course();
  CHECK(course.stays.size() == 1);
  REQUIRE(course.lost.size() == 1);
  CHECK(course.lost[0].reason == "timeout");
  CHECK_FALSE(course.lost[0].disturbed);
  store::Trial& again = sessions.timed(2, 0.2);
  again.block = sessions.history.trials[1].block;
  again.seconds = 0.4;
  sessions.history.trials[0].seconds = 0.3;
  course = sessions.course();
  CHECK(course.lost.empty());
  REQUIRE(course.stays.size() == 2);
  CHECK(course.stays[1].n == 1);
  CHECK(course.stays[1].timeouts == 0);
}

TEST_CASE("a metric that does not say what is better, or that the device cannot give, has no timeouts") {
  Sessions sessions;
  sessions.plan.metrics.push_back({"energy", "energy", "J", plan::Direction::Lower, TrialKind::Timed, false});
  sessions.plan.metrics[0].better.reset();
  sessions.timed(1, 0.1);
  sessions.add(2, TrialStatus::Timeout);
  CHECK(sessions.course().stays.size() == 1);
  CHECK(sessions.course().lost.size() == 1);
  CHECK(sessions.course("energy").stays.empty());
  CHECK(sessions.course("energy").lost.empty());
}

TEST_CASE("a session whose trials were all disturbed is kept as one without a value") {
  Sessions sessions;
  sessions.timed(1, 0.1);
  sessions.add(2, TrialStatus::Invalid);
  sessions.timed(3, 0.1);
  sessions.add(3, TrialStatus::Invalid);
  for (int i = 0; i < 2; ++i) sessions.add(4, TrialStatus::Invalid);
  Course course = sessions.course();
  CHECK(course.stays.size() == 2);
  CHECK(course.gaps == 1);
  REQUIRE(course.lost.size() == 1);
  CHECK(course.lost[0].disturbed);
  CHECK(course.lost[0].reason == "invalid");
  sessions.add(4, TrialStatus::Failed);
  course = sessions.course();
  REQUIRE(course.lost.size() == 1);
  CHECK_FALSE(course.lost[0].disturbed);
  CHECK(course.lost[0].reason == "failed");
}

}  // namespace
}  // namespace expc::describe
