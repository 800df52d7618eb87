// Runs of a Campaign on a launcher that starts no process, and with a clock that tests move.

#include "runtime/engine/campaign.h"

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "runtime/judge/judge.h"
#include "tests/support/engine/run.h"

using namespace expc;
using namespace expc::engine;

namespace {

/// A clock that stands still until a test moves it.
class MovedClock final : public launch::Clock {
 public:
  double boot() const override { return boot_seconds; }
  double wall() const override { return wall_seconds; }

  double boot_seconds = 1000, wall_seconds = 1.7e9;
};

/// A launcher whose trials take one second of its clock each and end as `judge` says. Trials of several lanes end in
/// the order in which they started.
class PretendedLauncher final : public launch::Launcher {
 public:
  explicit PretendedLauncher(unsigned lanes = 1) : lanes_(lanes) {}

  launch::LauncherDescription describe() const override { return {"pretended", lanes_}; }

  llvm::Expected<uint64_t> start(const launch::TrialRequest& request) override {
    started.push_back(request.spec);
    under_way_.push_back({++last_, request.spec});
    most_at_once = std::max(most_at_once, under_way_.size());
    for (const auto& [number, spec] : under_way_) {
      size_t& others = beside[spec.trial];
      others = std::max(others, under_way_.size() - 1);
    }
    return last_;
  }

  llvm::Expected<std::vector<launch::RankReport>> events(double seconds, int) override {
    if (under_way_.empty()) {  // a trial that failed is looked at a little later
      clock.boot_seconds += seconds;
      clock.wall_seconds += seconds;
      return std::vector<launch::RankReport>();
    }
    if (before_events) before_events();
    const auto [number, spec] = under_way_.front();
    under_way_.pop_front();
    clock.boot_seconds += 1;
    clock.wall_seconds += 1;
    launch::RankReport said, exited;
    said.what = launch::RankReport::What::Said;
    said.trial = exited.trial = number;
    said.at = exited.at = clock.boot_seconds;
    exited.what = launch::RankReport::What::Exited;
    const std::string why = judge ? judge(spec) : "";
    if (why.empty()) {
      said.event.type = protocol::Event::Type::Result;
      for (const std::string& metric : spec.metrics) said.event.metrics[metric] = 1.0;
    } else {
      said.event.type = protocol::Event::Type::Failed;
      said.event.reason = why;
      exited.status = 1 << 8;
    }
    if (after_exit) after_exit();
    launch::RankReport seen;
    seen.what = launch::RankReport::What::Readings;
    seen.trial = number;
    if (read) seen.readings = read(spec);
    return std::vector<launch::RankReport>{said, seen, exited};
  }

  void kill(uint64_t) override {}

  MovedClock clock;
  std::vector<protocol::TrialSpec> started;
  std::function<std::string(const protocol::TrialSpec&)> judge;        // why it fails; "" or null: it does not
  std::function<validity::Readings(const protocol::TrialSpec&)> read;  // what is seen of the machine; null: nothing
  std::function<void()> before_events, after_exit;
  size_t most_at_once = 0;
  std::map<std::string, size_t> beside;  // how many others ran beside a trial at once, by its number

 private:
  const unsigned lanes_;
  uint64_t last_ = 0;
  std::deque<std::pair<uint64_t, protocol::TrialSpec>> under_way_;
};

EngineOptions optionsOn(const TestFolder& folder, PretendedLauncher& launcher) {
  EngineOptions options = optionsFor(folder);
  options.launcher = &launcher;
  options.clock = &launcher.clock;
  return options;
}

}  // namespace

TEST_CASE("a gap inside a block closes the session, and no block reaches over it") {
  TestFolder folder;
  PretendedLauncher launcher;
  const plan::Plan plan = nullPlan(4, 3);
  const EngineOptions options = optionsOn(folder, launcher);
  // The engine is stopped for an hour while the second trial of the second block ends.
  launcher.after_exit = [&] {
    if (launcher.started.size() == 6) launcher.clock.boot_seconds += 3600;
  };
  const Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(says(outcome, "paused for 1 h"));
  const store::Results results = resultsOf(plan, options);
  CHECK(results.sessions.size() == 2);
  CHECK(results.trials.size() == 12);
  CHECK(results.blocks.size() == 4);  // one of them was left after two trials
  std::map<int64_t, std::set<int64_t>> sessions_of;
  for (const store::Trial& trial : results.trials) {
    sessions_of[trial.block].insert(trial.session);
    CHECK(trial.seconds == 1);
  }
  for (const auto& [block, sessions] : sessions_of) CHECK(sessions.size() == 1);
}

TEST_CASE("a wall clock that jumps changes no duration and no session") {
  TestFolder folder;
  PretendedLauncher launcher;
  const plan::Plan plan = nullPlan(2, 4);
  EngineOptions options = optionsOn(folder, launcher);
  launcher.before_events = [&] { launcher.clock.wall_seconds += launcher.started.size() % 2 ? 86400 : -200000; };
  CHECK((runPlan(plan, options).ending == Ending::Complete));
  plan::Plan more = nullPlan(2, 6);
  launcher.clock.wall_seconds -= 1e6;
  CHECK((runPlan(more, options).ending == Ending::Complete));
  const store::Results results = resultsOf(more, options);
  CHECK(results.sessions.size() == 1);
  CHECK(results.trials.size() == 12);
  for (const store::Trial& trial : results.trials) CHECK(trial.seconds == 1);
}

TEST_CASE("each lane has a block and a session of its own, and nothing is measured too often") {
  TestFolder folder;
  PretendedLauncher launcher(3);
  const plan::Plan plan = nullPlan(4, 7, true);
  EngineOptions options = optionsOn(folder, launcher);
  const Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 4 * 8);
  CHECK(launcher.most_at_once == 3);
  const store::Results results = resultsOf(plan, options);
  CHECK(results.sessions.size() == 3);
  std::map<int64_t, std::set<int64_t>> sessions_of;
  std::map<int64_t, unsigned> places_of;
  bool quality = false;
  for (const store::Trial& trial : results.trials) {
    sessions_of[trial.block].insert(trial.session);
    ++places_of[trial.block];
    quality |= trial.key->kind == plan::TrialKind::Quality;
    CHECK((trial.key->kind == plan::TrialKind::Quality || !quality));  // kinds do not mix
  }
  for (const auto& [block, sessions] : sessions_of) CHECK(sessions.size() == 1);
  for (const auto& [block, places] : places_of) CHECK(places == 4);
  CHECK(runPlan(plan, options).trials == 0);
}

TEST_CASE("the control of a design that shares runs while all other lanes stand still, once in each block") {
  TestFolder folder;
  PretendedLauncher launcher(3);
  plan::Plan plan = nullPlan(4, 7);
  plan.design.share = 3;
  plan.controls = {{plan::kAlone, plan.points[1].id}};
  EngineOptions options = optionsOn(folder, launcher);
  // A control that fails is tried again, alone as before.
  launcher.judge = [&](const protocol::TrialSpec& spec) { return spec.trial == "9" ? "the tape tore" : ""; };
  const Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 5 * 7);
  CHECK(launcher.most_at_once == 3);
  const store::Results results = resultsOf(plan, options);
  std::map<int64_t, unsigned> controls_of;
  size_t beside_others = 0;
  for (const store::Trial& trial : results.trials) {
    const size_t others = launcher.beside[std::to_string(trial.id)];
    if (trial.place().control == plan::kAlone) {
      CHECK(others == 0);
      controls_of[trial.block] += trial.status == store::TrialStatus::Valid;
    } else {
      beside_others += others > 0;
    }
  }
  CHECK(controls_of.size() == 7);
  for (const auto& [block, controls] : controls_of) CHECK(controls == 1);
  CHECK(beside_others > 14);
  CHECK(runPlan(plan, options).trials == 0);
}

TEST_CASE("a lane's failures leave the blocks of the others alone") {
  TestFolder folder;
  PretendedLauncher launcher(2);
  const plan::Plan plan = nullPlan(3, 5);
  EngineOptions options = optionsOn(folder, launcher);
  launcher.judge = [&](const protocol::TrialSpec& spec) {
    return spec.point == plan.points[1].id ? std::string("the tape tore") : std::string();
  };
  const Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Incomplete));
  CHECK(outcome.valid == 10);
  CHECK(outcome.failed >= 4);
  CHECK(outcome.failed <= 6);  // given up after four in a row; another lane may have had one under way
  CHECK(says(outcome, "the tape tore"));
  CHECK(!says(outcome, "are there"));
}

TEST_CASE("what a run costs does not grow with what was measured before") {
  TestFolder folder;
  PretendedLauncher launcher;
  const plan::Plan plan = nullPlan(2, 200);
  EngineOptions options = optionsOn(folder, launcher);
  const Ran outcome = runPlan(plan, options);
  CHECK(outcome.valid == 400);
  const plan::Plan more = nullPlan(2, 201);
  CHECK(runPlan(more, options).trials == 2);
  CHECK(resultsOf(more, options).trials.size() == 402);
}

TEST_CASE("a trial during which the machine swapped is kept, tried again in its place, and not counted") {
  TestFolder folder;
  PretendedLauncher launcher;
  plan::Plan plan = nullPlan(2, 3);
  plan.design.validity.limits["swapped"] = 1 << 20;
  const EngineOptions options = optionsOn(folder, launcher);
  launcher.read = [&](const protocol::TrialSpec&) {
    validity::Readings readings;
    readings.swapped = launcher.started.size() == 2 ? 8 << 20 : 0;
    return readings;
  };
  const Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.invalid == 1);
  CHECK(outcome.valid == 6);
  const store::Results results = resultsOf(plan, options);
  CHECK(results.blocks.size() == 3);
  const auto disturbed = std::ranges::find(results.trials, store::TrialStatus::Invalid, &store::Trial::status);
  REQUIRE(disturbed != results.trials.end());
  CHECK(disturbed->reason == "disturbed: the machine swapped 8 MiB (limit 1 MiB)");
  CHECK(!disturbed->metrics.empty());
  const judge::Judgement judgement = judge::judge(plan, results);
  const judge::PointStatus* status = judgement.status(disturbed->place().point, plan::TrialKind::Timed);
  REQUIRE(status);
  CHECK(status->valid == 3);
  CHECK(status->invalid == 1);
}

TEST_CASE("a run whose trials are all disturbed ends after a block, and the next one tries again") {
  TestFolder folder;
  PretendedLauncher launcher;
  plan::Plan plan = nullPlan(1, 5);
  plan.design.validity.attempts = 2;
  const EngineOptions options = optionsOn(folder, launcher);
  bool disturbed = true;
  launcher.read = [&](const protocol::TrialSpec&) {
    validity::Readings readings;
    readings.gpus.resize(1);
    if (disturbed) readings.gpus[0].others = {"7 (miner)"};
    return readings;
  };
  const Ran first = runPlan(plan, options);
  CHECK((first.ending == Ending::Incomplete));
  CHECK(first.invalid == 2);
  CHECK(says(first, "every timed trial was disturbed"));
  CHECK(says(first, "7 (miner)"));
  disturbed = false;
  const Ran second = runPlan(plan, options);
  CHECK((second.ending == Ending::Complete));
  CHECK(second.valid == 5);
}

TEST_CASE("a failure stays a failure whatever went on beside it") {
  TestFolder folder;
  PretendedLauncher launcher;
  launcher.judge = [](const protocol::TrialSpec&) { return "the tape tore"; };
  launcher.read = [&](const protocol::TrialSpec&) {
    validity::Readings readings;
    readings.gpus.resize(1);
    readings.gpus[0].others = {"7 (miner)"};
    return readings;
  };
  const Ran outcome = runPlan(nullPlan(1, 1), optionsOn(folder, launcher));
  CHECK(outcome.failed == 2);
  CHECK(outcome.invalid == 0);
}
