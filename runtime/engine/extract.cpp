// Extraction: finds the trials whose metrics must be read again, asks expc-worker-command for the values, and stores
// them.
//
// The reading (pattern, pointer, file) of each metric is part of a trial's key, so a trial that was read otherwise does
// not count until its key has the new readings. The worker reads because only it has the code for it.

#include "runtime/engine/extract.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/launch/trial_watch.h"
#include "runtime/engine/launch/worker_client.h"
#include "runtime/plan/command.h"
#include "runtime/protocol/trial.h"
#include "runtime/store/match.h"
#include "runtime/store/store.h"
#include "runtime/validity/readings.h"

namespace expc::engine {
namespace {

constexpr size_t kAtOnce = 64;  // trials of one question: each is a process of the worker

/// The energy from the readings that a trial's environment keeps; nothing if there are none.
std::optional<double> energyIn(const std::string& environment) {
  const auto parsed = expectedToOptional(parseJson(environment));
  const json::Object* object = parsed ? parsed->getAsObject() : nullptr;
  const json::Value* kept = object ? object->get("readings") : nullptr;
  if (!kept) return std::nullopt;
  // Another version may have written them.
  const auto readings = expectedToOptional(base::readRecord<validity::Readings>(*kept, "what was seen"));
  return readings ? validity::energyOf(*readings) : std::nullopt;
}

/// Trials of one command that lack the same metrics, so that one question serves them.
struct Batch {
  plan::Command command;
  std::vector<std::string> metrics;  // names of the metrics to read
  std::vector<std::pair<Trial, store::TrialKey>> trials;
};

/// One call of extract().
class Extraction {
 public:
  Extraction(const Plan& plan, store::Store& store, const std::string& worker, ExtractOutcome& outcome)
      : plan_(plan), store_(store), worker_(worker), outcome_(outcome) {}

  Error run() {
    // Places with a valid trial come first: their failed attempts need not be read.
    std::vector<Trial> trials = store_.endedTrials(plan_);
    for (const Trial& trial : trials)
      if (trial.status == TrialStatus::Valid) valid_.insert({trial.block, trial.position});
    for (Trial& trial : trials) sort(std::move(trial));
    for (auto& [lacking, batch] : batches_) TRY(read(batch));
    return Error::success();
  }

 private:
  /// The key that the trial would have if its metrics were read as the plan says. Everything else stays as it was
  /// measured.
  store::TrialKey keyNow(const Trial& trial) const {
    store::Match match;
    match.command = store::Worker{trial.key->worker_build, trial.key->environment_class};
    store::TrialKey key = *trial.key;
    // Readings are replaced, not the whole key: worker build, data and settings are those of the measurement.
    for (auto& [name, reading] : store::keyOf(plan_, trial.place(), key.kind, match).readings)
      key.readings[name] = reading;
    return key;
  }

  /// Puts a trial into a batch, or counts why it needs none.
  void sort(Trial trial) {
    const Point& point = *plan_.findPoint(trial.place().point);
    const bool valid = trial.status == TrialStatus::Valid;
    if (!plan_.workloads[point.workload].command || (!valid && trial.status != TrialStatus::Failed)) return;
    std::vector<std::string> asked;
    for (const Metric& metric : plan_.metrics)
      if (metric.kind == trial.key->kind && !metric.derived) asked.push_back(metric.name);
    // With other settings it was another measurement, which no reading can mend.
    if (asked.empty() || trial.key->settings != store::settingsText(plan_, trial.key->kind)) return;
    store::TrialKey key = keyNow(trial);
    std::vector<std::string> lacking;
    for (const std::string& name : asked) {
      // "not on this device" is an answer, too.
      const bool there = trial.tellsOf(name);
      if (!valid || !there || !isReadSo(*trial.key, key, name)) lacking.push_back(name);
    }
    if (lacking.empty() && key == *trial.key) {
      ++outcome_.as_before;
      return;
    }
    std::error_code failed;
    if (!std::filesystem::exists(store::keptOutput(store_.folder(), trial.id), failed)) {
      outcome_.not_kept += valid;
      return;
    }
    // At most one failed attempt of a place becomes valid, as at most one valid trial can stand there.
    if (!valid && !valid_.insert({trial.block, trial.position}).second) return;
    plan::Command command = plan::readAt(*plan_.workloads[point.workload].command, point.parameters);
    Batch& batch = batches_[{canonicalJson(base::written(command)), lacking}];
    batch.command = std::move(command);
    batch.metrics = lacking;
    batch.trials.emplace_back(std::move(trial), std::move(key));
  }

  /// Whether the trial read the metric as the plan does now.
  static bool isReadSo(const store::TrialKey& before, const store::TrialKey& now, const std::string& metric) {
    const auto wanted = valueIn(now.readings, metric);
    // Without a reading it was measured on the process, not read from output.
    return !wanted || valueIn(before.readings, metric) == wanted;
  }

  /// Asks the worker for the batch's values, kAtOnce outputs at a time.
  Error read(Batch& batch) {
    for (size_t first = 0; first < batch.trials.size(); first += kAtOnce) {
      const size_t last = std::min(first + kAtOnce, batch.trials.size());
      std::vector<std::string> outputs;
      for (size_t i = first; i < last; ++i)
        outputs.push_back(
            std::filesystem::absolute(store::keptOutput(store_.folder(), batch.trials[i].first.id)).string());
      auto lines = TRY(launch::askForMetrics(worker_, store_.folder(),
                                             json::Object{{"command", base::written(batch.command)},
                                                          {"metrics", base::jsonTexts(batch.metrics)},
                                                          {"root", jsonText(plan_.root)},
                                                          {"outputs", base::jsonTexts(outputs)}}));
      if (lines.size() != outputs.size()) return failure("the worker '{}' did not answer for every output", worker_);
      for (size_t i = first; i < last; ++i) TRY(take(batch.trials[i].first, batch.trials[i].second, lines[i - first]));
    }
    return Error::success();
  }

  /// Stores the answer for one trial. An output that cannot be read counts as refused.
  Error take(Trial& trial, store::TrialKey& key, const std::string& line) {
    auto event = TRY(protocol::eventFromLine(line));
    if (event.type != protocol::Event::Type::Result) {
      ++outcome_.refused[event.reason];
      return Error::success();
    }
    // A value that is no number means that the device cannot give it, and an earlier number stays; or that the output
    // has none, as it is read now.
    for (const auto& [name, value] : event.metrics) {
      if (key.readings.contains(name.str())) {
        trial.metrics.erase(name.str());
        trial.series.erase(name.str());
        std::erase(trial.not_on_device, name.str());
      }
      if (const auto number = base::measuredNumber(value))
        trial.metrics[name.str()] = *number;
      else if (!trial.metrics.count(name.str()) && !is_contained(trial.not_on_device, name))
        trial.not_on_device.push_back(name.str());
    }
    // Energy is no output of the program but a reading of the monitor, which the environment keeps.
    if (!key.readings.contains(plan::kEnergy)) trial.supply(plan::kEnergy, energyIn(trial.environment_json));
    for (const auto& [name, value] : event.series) trial.series[name.str()] = base::measuredNumbers(value);
    takeRows(trial, launch::rowsOf(event));
    trial.key = std::make_shared<const store::TrialKey>(std::move(key));
    ++outcome_.read;
    return store_.reread(trial);
  }

  /// Puts values of rows in the place of those that were read before.
  static void takeRows(Trial& trial, std::map<std::string, store::Values> rows) {
    std::set<std::string> read;
    for (const auto& [key, values] : rows) {
      for (const auto& [name, value] : values.metrics) read.insert(name);
      read.insert(values.not_on_device.begin(), values.not_on_device.end());
    }
    for (auto& [key, row] : trial.rows)
      for (const std::string& name : read)
        row.metrics.erase(name), row.series.erase(name), std::erase(row.not_on_device, name);
    for (auto& [key, values] : rows) {
      store::Values& row = trial.rows[key];
      row.metrics.merge(values.metrics);
      row.series.merge(values.series);
      std::ranges::move(values.not_on_device, std::back_inserter(row.not_on_device));
    }
  }

  const Plan& plan_;
  store::Store& store_;
  const std::string& worker_;
  ExtractOutcome& outcome_;
  std::set<std::pair<int64_t, unsigned>> valid_;  // (block, position) with a valid trial, or one that becomes valid
  std::map<std::pair<std::string, std::vector<std::string>>, Batch> batches_;
};

}  // namespace

Expected<ExtractOutcome> extract(const Plan& plan, const std::string& results, const std::string& command_worker) {
  ExtractOutcome outcome;
  auto store = TRY(store::Store::openForWriting(results, outcome.messages));
  if (auto error = Extraction(plan, store, command_worker, outcome).run()) {
    consumeError(store.close());
    return error;
  }
  TRY(store.close());
  return outcome;
}

}  // namespace expc::engine
