#pragma once

// For tests: a plan for the null worker, and a run of it in a folder of its own.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/engine.h"
#include "runtime/store/store.h"
#include "tests/support/folder.h"

namespace expc::engine {

using test::TestFolder;

/// `points` points that differ in `step`, `repeat` timed blocks and, if asked, one block of quality trials.
inline plan::Plan nullPlan(unsigned points, unsigned repeat, bool quality = false) {
  plan::Plan plan;
  plan.study = "test";
  plan.workloads = {{"", "null.idle", 1, std::nullopt}};
  plan.root = "/tmp";
  plan.digest = "digest";
  plan.design.seed = 7;
  plan::Factor factor;
  factor.name = "step";
  for (unsigned i = 0; i < points; ++i) {
    factor.levels.push_back({std::to_string(i + 1) + "ms", 0.001 * (i + 1)});
    plan::Point point;
    point.levels = {i};
    point.parameters = json::Object{{"step", 0.001 * (i + 1)}, {"duration", 0.001}, {"noise", 0.01}, {"gpus", 1}};
    point.id = base::shortHash(base::canonicalJson(json::Value(json::Object(point.parameters))));
    plan.points.push_back(std::move(point));
  }
  plan.factors.push_back(std::move(factor));
  plan.metrics.push_back({"step_time", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed, false});
  plan.metrics.push_back({"device_memory_peak", "bytes", "B", plan::Direction::Lower, plan::TrialKind::Timed, true});
  plan.design.kinds.push_back({plan::TrialKind::Timed, repeat, repeat, {}, json::Object{{"steps", 5}}});
  if (quality) {
    plan.metrics.push_back({"accuracy", "share", "", plan::Direction::Higher, plan::TrialKind::Quality, false});
    plan.design.kinds.push_back({plan::TrialKind::Quality, 1, 1, {}, json::Object{{"epochs", 1}}});
  }
  return plan;
}

inline EngineOptions optionsFor(const TestFolder& folder) {
  EngineOptions options;
  options.results = folder.path + "/results";
  options.worker = EXPC_NULL_WORKER;
  options.heat_up_seconds = 0;
  return options;
}

/// A run, and what it said.
struct Ran : RunOutcome {
  std::vector<std::string> messages;
};

inline Ran runPlan(const plan::Plan& plan, const EngineOptions& options) {
  struct : ProgressListener {
    void message(std::string_view text) override { heard.emplace_back(text); }
    std::vector<std::string> heard;
  } listener;
  auto outcome = run(plan, options, listener);
  if (!outcome) FAIL(toString(outcome.takeError()));
  return {std::move(*outcome), std::move(listener.heard)};
}

inline bool says(const Ran& outcome, std::string_view part) {
  return std::ranges::any_of(outcome.messages,
                             [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

inline store::Results resultsOf(const plan::Plan& plan, const EngineOptions& options) {
  std::vector<std::string> messages;
  auto store = cantFail(store::Store::openForReading(options.results, messages));
  return store.load(plan);
}

}  // namespace expc::engine
