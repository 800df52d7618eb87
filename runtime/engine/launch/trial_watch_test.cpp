// Tests of TrialWatch: how a trial ends, from reports and from times that the tests choose.

#include "runtime/engine/launch/trial_watch.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace expc;
using namespace expc::engine::launch;
using store::TrialStatus;
using Next = TrialWatch::Next;
using What = RankReport::What;

namespace {

TrialRequest requestOf(unsigned ranks, double timeout) {
  TrialRequest request;
  request.spec.world_size = ranks;
  request.spec.metrics = {"wall"};
  request.timeout_seconds = timeout;
  return request;
}

/// A trial that was started at 100 s.
struct Watched {
  explicit Watched(unsigned ranks = 1, double timeout = 10) : request(requestOf(ranks, timeout)), watch(request, 100) {}

  void said(protocol::Event event, double at, unsigned rank = 0) {
    RankReport report;
    report.what = What::Said;
    report.rank = rank;
    report.at = at;
    report.event = std::move(event);
    watch.take(std::move(report));
  }
  void result(double at) {
    protocol::Event event;
    event.type = protocol::Event::Type::Result;
    event.metrics["wall"] = 2.5;
    said(std::move(event), at);
  }
  void rows(double at) {
    protocol::Event event;
    event.type = protocol::Event::Type::Result;
    event.rows["1KiB"] = llvm::json::Object{{"metrics", llvm::json::Object{{"wall", "nan"}}}};
    said(std::move(event), at);
  }
  void failed(const char* reason, double at, unsigned rank = 0, bool lost = false, bool named = false) {
    protocol::Event event;
    event.type = protocol::Event::Type::Failed;
    event.reason = reason;
    event.lost_others = lost;
    event.names_rank = named;
    said(std::move(event), at, rank);
  }
  void exited(int status, double at, unsigned rank = 0, const char* out_of_memory = "") {
    RankReport report;
    report.what = What::Exited;
    report.rank = rank;
    report.status = status;
    report.out_of_memory = out_of_memory;
    report.at = at;
    watch.take(std::move(report));
  }
  TrialEnd endAt(double now) {
    // A failed trial waits a moment, in case the engine is interrupted, too.
    if (watch.judge(now) == Next::Wait) now = watch.wakeAt();
    REQUIRE((watch.judge(now) == Next::Ended));
    return watch.end();
  }

  const TrialRequest request;
  TrialWatch watch;
};

}  // namespace

TEST_CASE("a trial that finished before it was looked at is valid, however late that is") {
  Watched trial;
  CHECK((trial.watch.judge(100.5) == Next::Wait));
  // The engine looks hours later and reads everything at once.
  trial.result(9000);
  trial.exited(0, 104);
  const TrialEnd end = trial.endAt(9000);
  CHECK((end.status == TrialStatus::Valid));
  CHECK(end.metrics.at("wall") == 2.5);
  CHECK(end.seconds == 4);
}

TEST_CASE("a value of a row that is no number is noted with its row") {
  Watched trial;
  trial.rows(101);
  trial.exited(0, 102);
  const TrialEnd end = trial.endAt(103);
  CHECK((end.status == TrialStatus::Valid));
  REQUIRE(end.notes.size() == 1);
  CHECK(end.notes[0].name == "wall of 1KiB");
}

TEST_CASE("who looks late waits a moment for what is still on its way") {
  Watched trial;
  CHECK((trial.watch.judge(100.5) == Next::Wait));
  CHECK((trial.watch.judge(9000) == Next::Wait));
  CHECK(trial.watch.wakeAt() <= 9001);
  SUBCASE("it comes") {
    trial.result(9000.2);
    trial.exited(0, 103);
    CHECK((trial.endAt(9000.3).status == TrialStatus::Valid));
  }
  SUBCASE("it does not") {
    CHECK((trial.watch.judge(9001) == Next::Kill));
    CHECK((trial.watch.judge(9001.5) == Next::Wait));
    trial.exited(SIGKILL, 9001.2);
    const TrialEnd end = trial.endAt(9001.3);
    CHECK((end.status == TrialStatus::Timeout));
    CHECK(end.reason == "not finished after 10 s (--timeout sets another limit)");
  }
}

TEST_CASE("one who is always late still sees the limit") {
  Watched trial;
  double now = 100;
  while (trial.watch.judge(now) == Next::Wait && now < 1000) now += 5;
  CHECK(now < 200);
}

TEST_CASE("the limit is met to the moment, and asked for in time") {
  Watched trial(1, 1.5);
  CHECK((trial.watch.judge(100) == Next::Wait));
  CHECK(trial.watch.wakeAt() == 101);
  CHECK((trial.watch.judge(101) == Next::Wait));
  CHECK(trial.watch.wakeAt() == 101.5);
  CHECK((trial.watch.judge(101.4) == Next::Wait));
  CHECK((trial.watch.judge(101.5) == Next::Kill));
}

TEST_CASE("a delivered result is not turned into a timeout by a hang behind it") {
  Watched trial;
  for (double now = 100; now < 109; ++now) CHECK((trial.watch.judge(now) == Next::Wait));
  trial.result(109.5);
  CHECK((trial.watch.judge(110) == Next::Wait));
  CHECK((trial.watch.judge(111) == Next::Wait));
  SUBCASE("that ends") {
    trial.exited(0, 112);
    CHECK((trial.endAt(112).status == TrialStatus::Valid));
  }
  SUBCASE("that does not end") {
    double now = 111;
    while (trial.watch.judge(now) == Next::Wait && now < 200) ++now;
    CHECK(now == 120);
    trial.exited(SIGKILL, 120);
    const TrialEnd end = trial.endAt(120);
    CHECK((end.status == TrialStatus::Failed));
    CHECK(end.reason == "the worker did not end within 10 s of the result");
  }
}

TEST_CASE("a result and an exit that is not good") {
  Watched trial;
  trial.result(101);
  trial.exited(9 << 8, 101);
  CHECK(trial.endAt(101).reason == "the worker exited with code 9");
}

TEST_CASE("how a rank ended weighs against what it said, and the weightiest of all ranks is told") {
  Watched trial(3);
  trial.failed("lost the others", 101, 0, true);
  CHECK((trial.watch.judge(101) == Next::Wait));
  trial.failed("no such file", 101.1, 2);
  trial.exited(1 << 8, 101.1, 2);
  CHECK((trial.watch.judge(101.2) == Next::Wait));
  SUBCASE("a rank's own words") {
    CHECK((trial.watch.judge(101.4) == Next::Kill));
    trial.exited(SIGKILL, 101.5, 0);
    trial.exited(SIGKILL, 101.5, 1);
    const TrialEnd end = trial.endAt(101.5);
    CHECK(end.reason == "rank 2: no such file");
    CHECK(trial.watch.blamed() == 2);
  }
  SUBCASE("a signal") {
    trial.exited(11, 101.2, 1);
    CHECK((trial.watch.judge(101.4) == Next::Kill));
    trial.exited(SIGKILL, 101.5, 0);
    CHECK(trial.endAt(101.5).reason == "rank 1 was killed by signal 11 (Segmentation fault)");
  }
}

TEST_CASE("a rank is named before its reason, unless the reason names it") {
  for (const bool names : {false, true}) {
    Watched trial(2);
    trial.failed("rank 1 of 2: no such file", 101, 1, false, names);
    trial.exited(1 << 8, 101, 1);
    CHECK((trial.watch.judge(101.1) == Next::Wait));
    CHECK((trial.watch.judge(101.5) == Next::Kill));
    trial.exited(SIGKILL, 101.6, 0);
    CHECK(trial.endAt(101.7).reason == std::string(names ? "" : "rank 1: ") + "rank 1 of 2: no such file");
  }
}

TEST_CASE("of ranks with equal reasons the one that failed first is told") {
  Watched trial(3);
  trial.failed("loss is nan", 101, 2);
  trial.failed("rank 2 is gone", 101, 1, true);
  trial.failed("nothing was left", 101.01, 0);
  CHECK((trial.watch.judge(101.1) == Next::Wait));
  CHECK((trial.watch.judge(101.5) == Next::Kill));
  for (const unsigned rank : {0, 1, 2}) trial.exited(SIGKILL, 101.6, rank);
  CHECK(trial.endAt(101.7).reason == "rank 2: loss is nan");
}

TEST_CASE("a rank that only lost the others is told if none has a better reason for a while") {
  Watched trial(2);
  trial.failed("lost the others", 101, 0, true);
  CHECK((trial.watch.judge(101) == Next::Wait));
  CHECK((trial.watch.judge(104) == Next::Wait));  // a busy machine
  SUBCASE("the other one comes late") {
    trial.failed("no such file", 105, 1);
    CHECK((trial.watch.judge(105) == Next::Kill));
    for (const unsigned rank : {0, 1}) trial.exited(SIGKILL, 105.1, rank);
    CHECK(trial.endAt(105.2).reason == "rank 1: no such file");
  }
  SUBCASE("it does not come") {
    CHECK((trial.watch.judge(106) == Next::Kill));
    for (const unsigned rank : {0, 1}) trial.exited(SIGKILL, 106.1, rank);
    CHECK(trial.endAt(106.2).reason == "rank 0: lost the others");
  }
}

TEST_CASE("whether a rank ended without a word is known, for its log may have some") {
  Watched trial;
  SUBCASE("by itself") {
    trial.exited(SIGABRT, 101);
    trial.endAt(101);
    CHECK(trial.watch.endedSilently());
  }
  SUBCASE("killed") {
    trial.exited(SIGKILL, 101);
    trial.endAt(101);
    CHECK(!trial.watch.endedSilently());
  }
  SUBCASE("it spoke") {
    trial.failed("no such file", 101);
    trial.exited(1 << 8, 101);
    trial.endAt(101);
    CHECK(!trial.watch.endedSilently());
  }
}

TEST_CASE("out of memory is what the kernel or the worker's own exception says, and a SIGKILL by itself is not") {
  Watched trial;
  SUBCASE("a signal that nobody explains") {
    trial.exited(SIGKILL, 101);
    const TrialEnd end = trial.endAt(101);
    CHECK((end.status == TrialStatus::Failed));
    CHECK(end.reason == "the worker was killed by signal 9 (Killed); the sender of the signal is unknown");
  }
  SUBCASE("the kernel counted it in the trial's own group") {
    trial.exited(SIGKILL, 101, 0, "oom_kill 1 in memory.events");
    const TrialEnd end = trial.endAt(101);
    CHECK((end.status == TrialStatus::Infeasible));
    CHECK(end.reason == "the worker ran out of memory (oom_kill 1 in memory.events): killed by signal 9 (Killed)");
    CHECK(end.host_memory);
  }
  SUBCASE("what it started was killed, and it said so in its way") {
    trial.failed("bench was killed by signal 9 (Killed)", 101);
    trial.exited(1 << 8, 101, 0, "oom_kill 1 in memory.events");
    const TrialEnd end = trial.endAt(101);
    CHECK((end.status == TrialStatus::Infeasible));
    CHECK(end.reason ==
          "the worker ran out of memory (oom_kill 1 in memory.events): bench was killed by signal 9 (Killed)");
  }
  SUBCASE("it said so, and was ended by us before it was gone") {
    trial.failed("bench was killed by signal 9 (Killed)", 101);
    CHECK((trial.watch.judge(101) == Next::Wait));
    CHECK((trial.watch.judge(101.4) == Next::Kill));
    trial.exited(SIGKILL, 101.5, 0, "oom_kill 1 in memory.events");
    const TrialEnd end = trial.endAt(101.5);
    CHECK((end.status == TrialStatus::Infeasible));
    CHECK(end.reason ==
          "the worker ran out of memory (oom_kill 1 in memory.events): bench was killed by signal 9 (Killed)");
  }
  SUBCASE("it went on without what was killed") {
    trial.result(101);
    trial.exited(0, 101, 0, "oom_kill 1 in memory.events");
    const TrialEnd end = trial.endAt(101);
    CHECK((end.status == TrialStatus::Valid));
    CHECK(end.notes == std::vector<plan::Note>{{plan::Note::WentOn, "", 0, "oom_kill 1 in memory.events"}});
  }
}

TEST_CASE("nonsense, a second result, a flood and a lost launcher fail a trial") {
  Watched trial;
  std::string reason;
  SUBCASE("nonsense") {
    RankReport report;
    report.what = What::Nonsense;
    report.text = "wrote a line that is not an event: 'x'";
    trial.watch.take(report);
    reason = "the worker wrote a line that is not an event: 'x'";
  }
  SUBCASE("a second result") {
    trial.result(101);
    trial.result(101);
    reason = "the worker sent a second result";
  }
  SUBCASE("a flood") {
    trial.watch.flooded(0);
    CHECK((trial.watch.judge(101) == Next::Kill));
    reason = "the worker logged more than 1074 MB (--log-limit)";
  }
  SUBCASE("lost") {
    RankReport report;
    report.what = What::Lost;
    report.text = "the node is gone";
    report.at = 101;
    trial.watch.take(report);
    CHECK(trial.endAt(101).reason == "the node is gone");
    return;
  }
  trial.exited(0, 101);
  CHECK(trial.endAt(101).reason == reason);
}

TEST_CASE("the user's word ends a trial, unless it is over") {
  Watched trial;
  SUBCASE("it runs") {
    trial.watch.interrupt();
    CHECK((trial.watch.judge(101) == Next::Kill));
    trial.exited(SIGKILL, 101);
    CHECK((trial.endAt(101).status == TrialStatus::Interrupted));
  }
  SUBCASE("it is over") {
    trial.result(101);
    trial.exited(0, 101);
    trial.watch.interrupt();
    CHECK((trial.endAt(101).status == TrialStatus::Valid));
  }
  SUBCASE("the signal that ends it reaches the engine after it") {
    trial.exited(SIGTERM, 101);
    CHECK((trial.watch.judge(101) == Next::Wait));
    trial.watch.interrupt();
    CHECK((trial.endAt(101.01).status == TrialStatus::Interrupted));
  }
  SUBCASE("it failed long before") {
    trial.exited(SIGTERM, 101);
    CHECK((trial.watch.judge(101.2) == Next::Ended));
  }
}
