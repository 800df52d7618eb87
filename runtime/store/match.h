#pragma once

// Decides which stored trials count for a plan (docs/layers/store.md). No other place does.

#include <llvm/Support/JSON.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::store {

/// The subset of `paths` (Plan::data_paths) that a point's parameters name.
std::set<std::string> dataPathsOf(const Point& point, const std::vector<std::string>& paths);

/// The key of a command's program and inputs in Match::data_digests.
std::string commandKey(const plan::Workload& workload);

/// The key in Match::data_digests of one part of an aggregate `of`: of a commandKey, one file with its digest; of
/// kVariable, one variable that commands get, with its recorded value. Parts only explain why an aggregate differs;
/// they need not agree themselves.
std::string partKey(const std::string& of, const std::string& name);
/// Whether a key of Match::data_digests is such a part.
bool isPartKey(const std::string& key);
inline constexpr char kVariable[] = "variable";

/// The folder, below the results folder, that the preparation of a point's command fills; "" if the command has
/// none. Points share it if they tell the preparation the same, and program, inputs and the data named to it have
/// the digests of `digests`.
std::string preparedFolder(const Plan& plan, const Point& point, const std::map<std::string, std::string>& digests);

/// The files in the prepared folder that arguments of the command, or of what runs before it, name; as paths below
/// the results folder, which are also their keys in Match::data_digests. The digest of a file that nobody has seen
/// yet is "".
std::set<std::string> preparedFilesOf(const Plan& plan, const Point& point,
                                      const std::map<std::string, std::string>& digests);

/// Everything that a trial of the point is started with, one text each. For a command: its arguments, those of its
/// preparation, and the devices that it asks for (values that differ per trial stay as `${seed}`). For a built-in
/// workload: its version and every parameter. A point's id leaves out parameters at their defaults, so one id may
/// mean something else once a default changes.
std::vector<std::string> startedWith(const Plan& plan, const Point& point);

/// Names the differences between `was`, a point of plan `then`, and `is`, the point of `now` with the same levels (null
/// if there is none): factors, a version, arguments, parameters. "" if none of these differs.
std::string otherPoint(const Plan& then, const Point& was, const Plan& now, const Point* is);

/// Describes what differs, by name: "a is gone, b is new, c has changed"; with `values`: "c was '1', now '2'".
std::string changes(const std::map<std::string, std::string>& then, const std::map<std::string, std::string>& now,
                    bool values);

/// Replaces strings in a JSON value, at any depth, for which `replacement` returns something other than "".
void replaceTexts(json::Value& value, const std::function<std::string(const std::string&)>& replacement);

/// The settings of a kind, as trials store them (canonical JSON).
std::string settingsText(const Plan& plan, TrialKind kind);

/// The key that a trial of `place` gets if it is measured now. The place must belong to the plan, and `match` must
/// have the worker of its workload.
TrialKey keyOf(const Plan& plan, const Place& place, TrialKind kind, const Match& match);

/// The claims that verdicts on this plan are about.
RunClaimsPtr claimsOf(const Plan& plan);

/// Says why trials do not count for one plan. Wanted keys are computed once for each kind and point.
class Counting {
 public:
  /// Both must outlive this.
  Counting(const Plan& plan, const Match& match) : plan_(plan), match_(match) {}
  /// The reason why no ended trial with this key counts; "" if it may count. Only for keys of the plan's points.
  /// `then` is the match of the run that started the trial, if known: it names the files or variables that differ.
  std::string objection(const TrialKey& key, const Match* then = nullptr) const;
  /// The reason why this trial does not count although its key may; "" if it counts.
  std::string objection(const Trial& trial) const;

 private:
  const TrialKey& wanted(const TrialKey& key) const;

  const Plan& plan_;
  const Match& match_;
  mutable std::map<std::pair<TrialKind, std::string>, TrialKey> wanted_;  // by kind and point
};

}  // namespace expc::store
