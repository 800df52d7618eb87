#include "runtime/judge/index.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "runtime/judge/needs.h"
#include "tests/support/judge/study.h"

namespace expc::judge {
namespace {

using namespace test;

plan::Plan pairedPlan(unsigned repeat = 7) {
  plan::Plan plan = study(repeat, 0);
  plan.comparisons.push_back({"gain", "", "precision", "x", {"precision", "gpus"}, gainCells(), 0, ""});
  return plan;
}

/// A trial of which only the place matters and how it ended.
store::Trial trialOf(int64_t id, const plan::Place& place, int64_t block, TrialStatus status, std::string reason = "") {
  store::Trial trial;
  trial.id = id;
  trial.key = keyOf(place, TrialKind::Timed);
  trial.block = block;
  trial.session = 1;
  trial.status = status;
  trial.reason = std::move(reason);
  trial.seconds = 1;
  trial.limit = 60;
  if (status == TrialStatus::Valid)
    trial.metrics = {{"step_time", 0.1 + 1e-6 * double(id * 7 % 11)}, {"images_per_s", 640}, {"memory", 1}};
  return trial;
}

std::vector<plan::Place> wantedBy(const Index& index) { return nextBlock(index, TrialKind::Timed); }

bool wants(const Index& index, const plan::Place& place) {
  const auto all = wantedBy(index);
  return is_contained(all, place);
}

/// Runs blocks as the engine does, at most `attempts` for a place in each, until nothing is wanted; how many there
/// were. `end` says how an attempt ends.
template <class End>
int64_t runAll(Index& index, int64_t& id, int64_t first_block, unsigned attempts, End end) {
  for (int64_t block = first_block; block < first_block + 100; ++block) {
    const auto places = wantedBy(index);
    if (places.empty()) return block - first_block;
    for (const plan::Place& place : places) {
      for (unsigned attempt = 1; attempt <= attempts; ++attempt) {
        store::Trial trial = trialOf(++id, place, block, end(place, block));
        trial.attempt = attempt;
        if (trial.status == TrialStatus::Failed) trial.reason = "no licence server";
        index.add(trial);
        if (trial.status != TrialStatus::Failed) break;
      }
    }
  }
  FAIL("never ends");
  return 0;
}

}  // namespace

TEST_CASE("an index that grew trial by trial says what one that was built at once says, in any order") {
  plan::Plan plan = pairedPlan(5);
  plan.controls = {{"twice", "fp64-1"}};
  std::mt19937 random(7);
  Records records;
  for (int64_t block = 1; block <= 6; ++block)
    for (const plan::Point& point : plan.points)
      for (const char* control : {"", point.id == "fp64-1" ? "twice" : ""}) {
        const auto status = static_cast<TrialStatus>(1 + random() % 5);
        store::Trial& trial =
            records.add({point.id, control}, TrialKind::Timed, block, status, {{"step_time", 0.1}}, 1 + random() % 2);
        trial.limit = trial.seconds = 1 + random() % 3;
        trial.attempt = 1 + random() % 2;
      }
  for (int round = 0; round < 20; ++round) {
    std::shuffle(records.results.trials.begin(), records.results.trials.end(), random);
    const Index whole(plan, records.results);
    Index grown(plan);
    for (const store::Trial& trial : records.results.trials) {
      grown.add(trial);
      CHECK_FALSE(grown.add(trial));
    }
    CHECK(wantedBy(grown) == wantedBy(whole));
    std::ranges::sort(records.results.trials, {}, &store::Trial::id);
    const Index ordered(plan, records.results);
    for (unsigned number = 0; number < ordered.places(); ++number) {
      const PlaceOutcomes& one = ordered.of(TrialKind::Timed, number);
      const PlaceOutcomes& other = grown.of(TrialKind::Timed, number);
      CHECK(one.ended == other.ended);
      CHECK(one.tried == other.tried);
      CHECK(one.superseded == other.superseded);
      CHECK(one.infeasible == other.infeasible);
      CHECK(one.last_reason == other.last_reason);
    }
    for (size_t i = 0; i < ordered.groups(TrialKind::Timed).size(); ++i) {
      CHECK(ordered.groups(TrialKind::Timed)[i].complete == grown.groups(TrialKind::Timed)[i].complete);
      CHECK(ordered.groups(TrialKind::Timed)[i].tried == grown.groups(TrialKind::Timed)[i].tried);
    }
    // A run that begins with all of it counts the same as one that saw it come.
    Index late(plan, records.results);
    late.startRun({.timeout = 2});
    for (size_t i = 0; i < late.groups(TrialKind::Timed).size(); ++i) {
      Index early(plan);
      early.startRun({.timeout = 2, .give_up_after = 1000});
      for (const store::Trial& trial : records.results.trials) early.add(trial);
      CHECK(late.groups(TrialKind::Timed)[i].complete == early.groups(TrialKind::Timed)[i].complete);
      CHECK(late.groups(TrialKind::Timed)[i].tried == early.groups(TrialKind::Timed)[i].tried);
    }
  }
}

TEST_CASE("a timeout counts under the limit that it met and under shorter ones") {
  const plan::Plan plan = pairedPlan(3);
  Records records;
  for (int64_t block = 1; block <= 3; ++block)
    for (const plan::Point& point : plan.points) {
      const bool slow = point.id == "fp32-1";
      store::Trial& trial = records.add(point.id, TrialKind::Timed, block,
                                        slow ? TrialStatus::Timeout : TrialStatus::Valid, {{"step_time", 0.1}});
      trial.limit = 2;
      trial.seconds = slow ? 2 : 0.5;
    }
  for (const double limit : {1.0, 2.0}) {
    Index same(plan, records.results);
    same.startRun({.timeout = limit});
    CHECK(wantedBy(same).empty());
    CHECK_FALSE(lacksTrials(same));
  }
  Index longer(plan, records.results);
  longer.startRun({.timeout = 3});
  CHECK(wantedBy(longer) == std::vector<plan::Place>{"fp64-1", "fp32-1"});
  CHECK(longer.of(TrialKind::Timed, "fp32-1").superseded == 3);
  // Without a limit a run gives half an hour, or what the command asks for.
  Index automatic(plan, records.results);
  automatic.startRun({});
  CHECK(wants(automatic, "fp32-1"));
  plan::Plan commanded = plan;
  commanded.workloads.emplace_back();
  commanded.workloads[0].command.emplace().timeout_seconds = 2;
  Index declared(commanded, records.results);
  declared.startRun({});
  CHECK(wantedBy(declared).empty());
  // A report counts what there is.
  CHECK(wantedBy(Index(plan, records.results)).empty());
}

TEST_CASE("in a report a timeout counts by the limit that the newest trial was given") {
  const plan::Plan plan = pairedPlan(3);
  Index index(plan);
  for (int64_t block = 1; block <= 3; ++block) index.add(trialOf(block, "fp32-1", block, TrialStatus::Timeout));
  const PlaceOutcomes& place = index.of(TrialKind::Timed, "fp32-1");
  CHECK(place.ended == 3);
  SUBCASE("which a trial ran into") {
    store::Trial longer = trialOf(10, "fp32-1", 4, TrialStatus::Timeout);
    longer.limit = 100;
    index.add(longer);
    CHECK(place.ended == 1);
    CHECK(place.superseded == 3);
    CHECK(place.limit == 100);
  }
  SUBCASE("under which another ended well") {
    store::Trial longer = trialOf(10, "fp32-1", 4, TrialStatus::Valid);
    longer.limit = 100;
    index.add(longer);
    CHECK(place.ended == 1);
    store::Trial shorter = trialOf(11, "fp32-1", 5, TrialStatus::Valid);
    index.add(shorter);
    CHECK(place.ended == 5);
  }
  SUBCASE("but not if a valid trial took longer than that") {
    store::Trial longer = trialOf(10, "fp32-1", 4, TrialStatus::Valid);
    longer.limit = 100;
    longer.seconds = 70;
    index.add(longer);
    index.add(trialOf(11, "fp32-1", 5, TrialStatus::Valid));
    CHECK(place.ended == 2);
  }
  SUBCASE("and it matters not that the end of a valid trial was seen late") {
    store::Trial late = trialOf(10, "fp32-1", 4, TrialStatus::Valid);
    late.seconds = 70;
    index.add(late);
    CHECK(place.ended == 4);
  }
}

TEST_CASE("in a report a timeout counts for the rows of a process by the limit that the newest trial was given") {
  plan::Plan plan = pairedPlan(3);
  plan.workloads.emplace_back().command.emplace();
  for (plan::Point& point : plan.points)
    if (point.id.starts_with("fp32")) point.process = "fp32";
  plan.indexPoints();
  std::vector<store::Trial> trials{trialOf(1, "fp32", 1, TrialStatus::Timeout),
                                   trialOf(2, "fp32", 2, TrialStatus::Timeout)};
  trials[1].limit = 100;
  for (const bool late : {false, true}) {
    Index index(plan);
    index.add(trials[late]);
    index.add(trials[!late]);
    for (const char* place : {"fp32", "fp32-1", "fp32-2"}) {
      CHECK(index.of(TrialKind::Timed, place).ended == 1);
      CHECK(index.of(TrialKind::Timed, place).superseded == 1);
    }
  }
}

TEST_CASE("in a report a valid trial that took longer lets a control's timeout count no more, whatever comes first") {
  plan::Plan plan = pairedPlan(3);
  plan.controls = {{"twice", "fp64-1"}};
  const store::Trial timeout = trialOf(1, {"fp64-1", "twice"}, 1, TrialStatus::Timeout);
  store::Trial longer = trialOf(2, "fp64-1", 1, TrialStatus::Valid);
  longer.limit = 200;
  longer.seconds = 70;
  store::Trial newest = trialOf(3, "fp64-1", 2, TrialStatus::Valid);
  newest.limit = 200;
  for (const auto& order :
       {std::vector{timeout, longer, newest}, {timeout, newest, longer}, {newest, longer, timeout}}) {
    Index index(plan);
    for (const store::Trial& trial : order) index.add(trial);
    CHECK(index.of(TrialKind::Timed, {"fp64-1", "twice"}).ended == 0);
  }
}

TEST_CASE("the design's timeout goes before what trials took, and behind the run's own") {
  plan::Plan plan = pairedPlan();
  for (plan::KindDesign& kind : plan.design.kinds)
    if (kind.kind == TrialKind::Timed) kind.timeout_seconds = 12;
  Index index(plan);
  index.startRun({});
  CHECK(index.limit(TrialKind::Timed, "fp64-1") == 12);
  CHECK(index.limit(TrialKind::Quality, "fp64-1") == 1800);
  index.startRun({.timeout = 5});
  CHECK(index.limit(TrialKind::Timed, "fp64-1") == 5);
}

TEST_CASE("automatic limits move in steps, so that timeouts go on counting") {
  const plan::Plan plan = pairedPlan();
  Index index(plan);
  index.startRun({});
  int64_t id = 0;
  const auto valid = [&](const plan::Place& place, double seconds) {
    ++id;
    store::Trial trial = trialOf(id, place, id, TrialStatus::Valid);
    trial.seconds = seconds;
    index.add(trial);
  };
  CHECK(index.limit(TrialKind::Timed, "fp64-1") == 1800);
  valid("fp64-1", 2);
  CHECK(index.limit(TrialKind::Timed, "fp64-1") == 60);
  CHECK(index.limit(TrialKind::Timed, "fp64-2") == 1800);
  CHECK(index.limit(TrialKind::Quality, "fp64-1") == 1800);
  store::Trial timeout = trialOf(100, "fp64-1", 100, TrialStatus::Timeout);
  index.add(timeout);
  valid("fp64-1", 5.9);
  CHECK(index.of(TrialKind::Timed, "fp64-1").ended == 3);
  valid("fp64-1", 6.1);
  CHECK(index.limit(TrialKind::Timed, "fp64-1") == 120);
  CHECK(index.of(TrialKind::Timed, "fp64-1").ended == 3);  // the timeout is to be run again
  valid("fp64-1", 400);
  CHECK(index.limit(TrialKind::Timed, "fp64-1") == 60 * 128);
  CHECK(index.limit(TrialKind::Timed, "fp64-2") == 7200);
}

TEST_CASE("blocks under way are counted as if they ended well") {
  const plan::Plan plan = pairedPlan(2);
  Index index(plan);
  std::vector<plan::Place> all = wantedBy(index);
  CHECK(all.size() == 6);
  std::vector<BlockUnderWay> under_way{{1, all}};
  CHECK(nextBlock(index, TrialKind::Timed, under_way) == all);
  under_way.push_back({2, all});
  CHECK(nextBlock(index, TrialKind::Timed, under_way).empty());
  // What has ended in them counts once.
  index.add(trialOf(1, "fp64-1", 1, TrialStatus::Valid));
  index.add(trialOf(2, "fp64-1", 2, TrialStatus::Timeout));
  index.add(trialOf(3, "fp32-1", 2, TrialStatus::Failed));
  CHECK(nextBlock(index, TrialKind::Timed, under_way).empty());
  // Of what ran out of memory nothing more comes in its block.
  index.add(trialOf(4, "fp32-2", 2, TrialStatus::Infeasible));
  CHECK(nextBlock(index, TrialKind::Timed, under_way) == std::vector<plan::Place>{"fp64-2", "fp32-2"});
  // A block that is over is what it is.
  under_way.pop_back();
  CHECK(nextBlock(index, TrialKind::Timed, under_way) ==
        std::vector<plan::Place>{"fp64-1", "fp64-2", "fp32-1", "fp32-2", "bf16-1", "bf16-2"});
}

TEST_CASE("a point that fails again and again is given up for this run, and others go on") {
  const plan::Plan plan = pairedPlan(6);
  Index index(plan);
  index.startRun({});
  int64_t id = 0;
  const auto licence = [](const plan::Place& place, int64_t) {
    return place == "fp32-2" ? TrialStatus::Failed : TrialStatus::Valid;
  };
  CHECK(runAll(index, id, 1, 2, licence) == 6);
  REQUIRE(index.givenUp().size() == 1);
  CHECK(index.givenUp()[0].place == plan::Place("fp32-2"));
  CHECK(index.givenUp()[0].times == 4);
  CHECK(index.givenUp()[0].reason == "no licence server");
  CHECK(index.of(TrialKind::Timed, "fp64-1").ended == 6);
  CHECK(index.of(TrialKind::Timed, "fp64-2").ended == 2);  // it has no other partner
  CHECK(lacksTrials(index));
  // Another run tries it again, until as many blocks were tried as the design allows.
  for (int run = 0; run < 10; ++run) {
    index.startRun({});
    runAll(index, id, 100 * (run + 1), 2, licence);
  }
  CHECK(index.of(TrialKind::Timed, "fp32-2").tried == 9);
  CHECK(lacksTrials(index));
  index.startRun({});
  CHECK(wantedBy(index).empty());
  // Unless it is told to try again what failed for good.
  index.startRun({.retry_failed = true});
  CHECK(wantedBy(index) == std::vector<plan::Place>{"fp64-2", "fp32-2"});
  runAll(index, id, 2000, 2, [](const plan::Place&, int64_t) { return TrialStatus::Valid; });
  CHECK(index.of(TrialKind::Timed, "fp32-2").ended == 6);
  CHECK_FALSE(lacksTrials(index));
}

TEST_CASE("a success in between keeps a point in the run") {
  const plan::Plan plan = pairedPlan(6);
  Index index(plan);
  index.startRun({});
  int64_t id = 0, asked = 0;
  runAll(index, id, 1, 2, [&](const plan::Place& place, int64_t) {
    return place == "fp32-2" && ++asked % 4 != 0 ? TrialStatus::Failed : TrialStatus::Valid;
  });
  CHECK(index.givenUp().empty());
}

TEST_CASE("the first place that used up its attempts is known, and a failure that says the same again") {
  const plan::Plan plan = pairedPlan(6);
  Index index(plan);
  index.add(trialOf(1, "fp64-1", 1, TrialStatus::Failed, "no licence server"));
  index.startRun({});
  CHECK_FALSE(index.firstFailedForGood().has_value());
  store::Trial failed = trialOf(2, "fp64-1", 2, TrialStatus::Failed, "no licence server");
  CHECK_FALSE(index.failedAsBefore(failed));
  index.add(failed);
  CHECK_FALSE(index.firstFailedForGood().has_value());
  failed.id = 3;
  failed.attempt = 2;
  CHECK(index.failedAsBefore(failed));
  index.add(failed);
  REQUIRE(index.firstFailedForGood().has_value());
  CHECK(index.firstFailedForGood()->place == plan::Place("fp64-1"));
  CHECK(index.onlyLost(TrialKind::Timed));
  failed.reason = "another";
  CHECK_FALSE(index.failedAsBefore(failed));
}

TEST_CASE("a point that only times out is settled by as many blocks as decide the claims") {
  plan::Plan plan = pairedPlan(20);
  const auto blocksUntil = [&](const plan::Plan& asked) {
    Index index(asked);
    int64_t id = 0;
    runAll(index, id, 1, 1, [&](const plan::Place& place, int64_t) {
      return place == "fp32-1" ? TrialStatus::Timeout : TrialStatus::Valid;
    });
    CHECK(index.of(TrialKind::Timed, "fp64-1").ended == 20);
    CHECK_FALSE(lacksTrials(index));
    return index.of(TrialKind::Timed, "fp32-1").ended;
  };
  CHECK(blocksUntil(plan) == 4);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  CHECK(blocksUntil(plan) == 10);  // 2 / 2^10 is below an eighth of 5 %, shared by two cells
}

TEST_CASE("trials of which none ended well are lost, timeouts once there are four and nothing is decided by them") {
  plan::Plan plan = pairedPlan();
  Index index(plan);
  for (int64_t id = 1; id <= 4; ++id) {
    CHECK_FALSE(index.onlyLost(TrialKind::Timed));
    index.add(trialOf(id, "fp32-1", id, TrialStatus::Timeout));
  }
  CHECK(index.onlyLost(TrialKind::Timed));
  plan.criteria.push_back(criterion(metricCells(plan, "step_time"), atLeast(1, "1s"), "s", 0.95));
  CHECK_FALSE(index.onlyLost(TrialKind::Timed));
  // A mean over points is as bad as its parts.
  const std::vector<plan::Cell> parts = plan.criteria[0].cells;
  plan::Cell mean = parts[0];
  mean.points = {parts[0].points[0], parts[1].points[0]};
  mean.term = term(plan::AggregateTerm{plan::AggregateTerm::Function::Mean, {parts[0].term, parts[1].term}, {}});
  plan.criteria[0].cells = {mean};
  CHECK_FALSE(index.onlyLost(TrialKind::Timed));
  plan.criteria.clear();
  index.add(trialOf(5, "fp64-1", 5, TrialStatus::Valid));
  CHECK_FALSE(index.onlyLost(TrialKind::Timed));
}

TEST_CASE("a fresh run counts nothing that was measured before") {
  const plan::Plan plan = pairedPlan(2);
  Index index(plan);
  int64_t id = 0;
  const auto well = [](const plan::Place&, int64_t) { return TrialStatus::Valid; };
  runAll(index, id, 1, 1, well);
  index.startRun({.fresh = true});
  CHECK(wantedBy(index).size() == 6);
  CHECK(index.spentSeconds() == 0);
  CHECK(runAll(index, id, 10, 1, well) == 2);
}

TEST_CASE("a run can be held to some points") {
  const plan::Plan plan = pairedPlan(2);
  Index index(plan);
  index.startRun({.only = std::set<std::string>{"fp32-1", "fp64-1"}});
  CHECK(wantedBy(index) == std::vector<plan::Place>{"fp64-1", "fp32-1"});
  CHECK(remaining(index, TrialKind::Timed).trials == 4);
  int64_t id = 0;
  runAll(index, id, 1, 1, [](const plan::Place&, int64_t) { return TrialStatus::Valid; });
  CHECK_FALSE(lacksTrials(index));
}

TEST_CASE("out of memory in earlier runs is tried again only when asked for") {
  const plan::Plan plan = pairedPlan(4);
  Index index(plan);
  for (int64_t block = 1; block <= 2; ++block) index.add(trialOf(block, "fp32-1", block, TrialStatus::Infeasible));
  index.startRun({});
  CHECK_FALSE(wants(index, "fp32-1"));
  index.startRun({.retry_failed = true});
  CHECK(wants(index, "fp32-1"));
  for (int64_t block = 3; block <= 4; ++block) index.add(trialOf(block, "fp32-1", block, TrialStatus::Infeasible));
  CHECK_FALSE(wants(index, "fp32-1"));
}

TEST_CASE("no place of an adaptive design is tried more often than its most, whatever fails") {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u}) {
    plan::Plan plan = pairedPlan(7);
    plan.design.kinds[0].repeat_most = 12;
    plan.design.kinds[0].until = {{"gain", 1e-9, true}};
    std::mt19937 random(seed);
    Index index(plan);
    index.startRun({});
    int64_t id = 0;
    runAll(index, id, 1, 2, [&](const plan::Place& place, int64_t) {
      return place.point.starts_with("fp32") && random() % 2 ? TrialStatus::Failed : TrialStatus::Valid;
    });
    for (unsigned number = 0; number < index.places(); ++number)
      CHECK(index.of(TrialKind::Timed, number).outcomes.size() <= 12);
    for (const UntilState& state : untilStates(index, TrialKind::Timed)) CHECK(state.blocks <= 12);
  }
}

TEST_CASE("what failed for good does not keep an adaptive design going") {
  plan::Plan plan = pairedPlan(6);
  plan.design.kinds[0].repeat_most = 20;
  plan.design.kinds[0].until = {{"gain", 0.1, true}};
  Index index(plan);
  index.startRun({});
  int64_t id = 0;
  CHECK(runAll(index, id, 1, 2, [](const plan::Place& place, int64_t) {
          return place == "fp32-2" ? TrialStatus::Failed : TrialStatus::Valid;
        }) == 7);
  const auto states = untilStates(index, TrialKind::Timed);
  REQUIRE(states.size() == 1);
  CHECK(states[0].met);
  CHECK(states[0].blocks == 7);
}

TEST_CASE("how long trials take: medians by point, and of others where there are none") {
  const plan::Plan plan = pairedPlan();
  Index index(plan);
  CHECK_FALSE(index.typicalSeconds(TrialKind::Timed).has_value());
  int64_t id = 0;
  for (const double seconds : {3.0, 1.0, 2.0}) {
    ++id;
    store::Trial trial = trialOf(id, "fp64-1", id, TrialStatus::Valid);
    trial.seconds = seconds;
    index.add(trial);
  }
  ++id;
  store::Trial lost = trialOf(id, "fp64-1", id, TrialStatus::Failed);
  lost.seconds = 50;
  index.add(lost);
  CHECK(index.typicalSeconds(TrialKind::Timed, "fp64-1") == 2);
  CHECK(index.typicalSeconds(TrialKind::Timed, "fp32-1") == 2);
  CHECK(index.typicalSeconds(TrialKind::Timed) == 2);
  CHECK(index.spentSeconds() == 56);
}

TEST_CASE("what a run keeps is enough for its untils, and no more") {
  plan::Plan plan = pairedPlan(6);
  plan.design.kinds[0].repeat_most = 20;
  plan.design.kinds[0].until = {{"gain", 0.01, true}};
  Records records;
  records.pairs(8, 1.5);
  const Index slim(plan, records.results, Index::Keep::ForRun), whole(plan, records.results);
  CHECK(slim.column("step_time").has_value());
  CHECK_FALSE(slim.column("images_per_s").has_value());
  CHECK(*untilStates(slim, TrialKind::Timed)[0].widest == *untilStates(whole, TrialKind::Timed)[0].widest);
  CHECK(wantedBy(slim) == wantedBy(whole));
}

TEST_CASE("widths are looked at after every block, and of many blocks after every hundredth or so") {
  const plan::Plan plan = pairedPlan();
  Index index(plan);
  unsigned looks = 0;
  for (int64_t block = 1; block <= 3000; ++block) {
    index.add(trialOf(block, "fp64-1", block, TrialStatus::Valid));
    const bool looked = looksAtWidths(index, TrialKind::Timed);
    looks += looked;
    if (block <= 129) CHECK(looked == (block <= 128));
  }
  CHECK(looks > 200);
  CHECK(looks < 500);
}

namespace {

/// Counts of groups and places, to be compared.
std::vector<unsigned> countsOf(const Index& index) {
  std::vector<unsigned> counts;
  for (unsigned number = 0; number < index.places(); ++number) {
    const PlaceOutcomes& place = index.of(TrialKind::Timed, number);
    counts.insert(counts.end(), {place.valid, place.ended, place.tried, place.superseded});
  }
  for (const Group& group : index.groups(TrialKind::Timed)) counts.insert(counts.end(), {group.complete, group.tried});
  return counts;
}

/// A run of several lanes in which trials end as `random` says; the trials that it began.
uint64_t randomRun(Index& index, std::mt19937& random, int64_t& id, int64_t& block, unsigned lanes) {
  struct Lane {
    BlockUnderWay block;
    size_t position = 0;
    unsigned attempt = 1;
  };
  std::vector<Lane> busy;
  const unsigned attempts = index.policy()->attempts;
  const unsigned ill = random() % 5;  // which share of trials does not end well
  for (uint64_t trials = 0; trials < 5000;) {
    if (busy.size() < lanes) {
      std::vector<BlockUnderWay> under_way;
      for (const Lane& lane : busy) under_way.push_back(lane.block);
      std::vector<plan::Place> places = nextBlock(index, TrialKind::Timed, under_way);
      if (places.empty() && busy.empty()) return trials;
      if (!places.empty()) busy.push_back({{++block, std::move(places)}});
    }
    const size_t chosen = random() % busy.size();
    Lane& lane = busy[chosen];
    const plan::Place& place = lane.block.places[lane.position];
    store::Trial trial = trialOf(++id, place, lane.block.block, TrialStatus::Valid);
    trial.status = random() % 5 >= ill ? TrialStatus::Valid : static_cast<TrialStatus>(2 + random() % 3);
    trial.reason = "x";
    trial.attempt = lane.attempt;
    trial.limit = index.limit(TrialKind::Timed, place.point);
    trial.seconds = trial.status == TrialStatus::Timeout ? trial.limit : double(1 + random() % 30);
    index.add(trial);
    ++trials;
    const bool again = trial.status == TrialStatus::Failed && lane.attempt < attempts &&
                       !index.givenUp(TrialKind::Timed, *index.number(place));
    lane.attempt = again ? lane.attempt + 1 : 1;
    if (!again && ++lane.position == lane.block.places.size()) busy.erase(busy.begin() + ptrdiff_t(chosen));
  }
  FAIL("never ends");
  return 0;
}

}  // namespace

TEST_CASE("whatever happens to its trials, a run ends, and counts that grew are those that are counted anew") {
  std::mt19937 random(1);
  for (int round = 0; round < 150; ++round) {
    plan::Plan plan = pairedPlan(1 + random() % 6);
    plan.controls = {{"twice", "fp64-1"}};
    if (random() % 3 == 0) {
      plan.design.kinds[0].repeat_most = plan.design.kinds[0].repeat + random() % 6;
      plan.design.kinds[0].until = {{"gain", 1e-9, true}};
    }
    const unsigned most = std::max(plan.design.kinds[0].repeat, plan.design.kinds[0].repeat_most);
    Index index(plan);
    int64_t id = 0, block = 0;
    for (int run = 0; run < 4; ++run) {
      RunPolicy policy;
      policy.retry_failed = random() % 4 == 0;
      if (random() % 2) policy.timeout = 10 * (1 + random() % 3);
      index.startRun(policy);
      randomRun(index, random, id, block, 1 + random() % 3);
      CHECK(nextBlock(index, TrialKind::Timed).empty());
      const std::vector<unsigned> grown = countsOf(index);
      if (policy.retry_failed) continue;
      index.startRun(policy);
      CHECK(countsOf(index) == grown);
    }
    // Without failures what is lacking comes, and no more than is asked for.
    CHECK(block <= 4 * 2 * (most + 3));
  }
}

}  // namespace expc::judge
