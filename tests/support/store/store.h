#pragma once

// For tests: a folder, a plan of two points, and records for it.

#include <doctest/doctest.h>

#include <string>

#include "runtime/base/llvm.h"
#include "runtime/store/store.h"
#include "tests/support/folder.h"
#include "tests/support/text/has.h"

namespace expc::store::test {

using expc::test::TestFolder;

template <typename T>
std::string errorOf(Expected<T> result) {
  REQUIRE(!result);
  return toString(result.takeError());
}

using expc::test::has;

inline Store openWriter(const std::string& folder) {
  std::vector<std::string> messages;
  return cantFail(Store::openForWriting(folder, messages));
}

/// One timed kind, one metric, two points; the first reads data.
inline plan::Plan twoPoints() {
  plan::Plan plan;
  plan.study = "test";
  plan.workloads = {{"", "some.workload", 1, std::nullopt}};
  plan.metrics.push_back({"step_time", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed, false});
  plan.design.kinds.push_back({plan::TrialKind::Timed, 2, 2, {}, json::Object{{"steps", 5}}});
  for (const char* id : {"aaaa", "bbbb"}) {
    plan::Point point;
    point.id = id;
    plan.points.push_back(std::move(point));
  }
  plan.points[0].parameters = json::Object{{"data", json::Object{{"folder", json::Array{"data/x"}}}}};
  plan.data_paths = {"data/x"};
  return plan;
}

inline Match usualMatch() { return {Worker{"build", "class"}, std::nullopt, {{"data/x", "d1"}}}; }

/// A trial of the plan's n-th point, with its key changed.
inline Trial trialOf(
    const plan::Plan& plan, unsigned point, int64_t block, int64_t session, unsigned position,
    function_ref<void(TrialKey&)> change = [](TrialKey&) {}) {
  TrialKey key = keyOf(plan, plan.points[point].id, plan::TrialKind::Timed, usualMatch());
  change(key);
  Trial trial;
  trial.key = std::make_shared<const TrialKey>(std::move(key));
  trial.block = block;
  trial.session = session;
  trial.position = position;
  trial.started = 100;
  trial.devices = "[]";
  return trial;
}

struct Filled {
  int64_t session = 0, block = 0;
};

inline Filled fill(Store& store) {
  Session session;
  session.where.nodes = {"host"};
  session.environment_json = "{}";
  session.opened = session.last_seen = {90, 9};
  Filled filled;
  filled.session = cantFail(store.addSession(session));
  BlockPlan block;
  block.block.study = "test";
  block.block.session = filled.session;
  block.block.number = store.contents().nextBlockNumber("test", plan::TrialKind::Timed);
  block.block.seed = 1000 * filled.session + block.block.number;
  block.places = {"bbbb", "aaaa"};
  filled.block = cantFail(store.addBlock(block));
  return filled;
}

inline void finish(Store& store, Trial trial, TrialStatus status = TrialStatus::Valid) {
  trial.id = cantFail(store.beginTrial(trial));
  trial.status = status;
  trial.seconds = 1;
  if (status == TrialStatus::Valid) trial.metrics["step_time"] = 0.5;
  trial.series["loss"] = {3, 2, 1};
  trial.environment_json = "{}";
  cantFail(store.endTrial(trial, {trial.started + 1, 11}));
}

inline int64_t addRun(Store& store, int64_t session, Match match) {
  Run run;
  run.study = "test";
  run.session = session;
  run.match = std::move(match);
  return cantFail(store.addRun(run));
}

inline Results readBack(const std::string& folder, const plan::Plan& plan, std::vector<std::string>* said = nullptr) {
  std::vector<std::string> messages;
  Store reader = cantFail(Store::openForReading(folder, said ? *said : messages));
  return reader.load(plan, usualMatch());
}

/// All records of a store, to compare two of them.
inline std::string contentText(const Store& store) {
  const Contents& contents = store.contents();
  std::string text;
  const auto add = [&](const Entry& entry) { text += "\n" + toLine(entry); };
  for (const auto& [id, session] : contents.sessions) add(session);
  for (const auto& [hash, plan] : contents.plans) add(PlanText{hash, plan});
  for (const auto& [id, run] : contents.runs) {
    add(RunBegan{run, run.plan_json});
    add(RunEnded{id, run.ended, run.outcome.value_or(Outcome()), run.judged});
  }
  for (const auto& [id, block] : contents.blocks) add(block);
  for (const auto& [id, key] : contents.keys) add(KeyAdded{id, *key});
  for (const auto& [id, trial] : contents.trials) {
    add(TrialBegan{trial, 0});
    add(KeyAdded{0, *trial.key});
    add(TrialEnded{trial, {}});
  }
  for (const auto& [origin, ours] : contents.adopted) add(Adopted{origin, ours});
  return text;
}

}  // namespace expc::store::test
