#pragma once

// What of the store counts for a plan (docs/layers/store.md): said here and nowhere else.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::store {

/// Those of `paths` (Plan::data_paths) that a point's parameters name.
std::set<std::string> dataPathsOf(const plan::Point& point, const std::vector<std::string>& paths);

/// The key of a command's program and inputs in Match::data_digests.
std::string commandKey(const plan::Workload& workload);

/// The key in Match::data_digests of one part of what an aggregate stands for: of a command's key one of its files,
/// with its digest; of kVariable one variable that commands get, as it was recorded. They explain, and nothing must
/// agree with them.
std::string partKey(const std::string& of, const std::string& name);
bool isPartKey(const std::string& key);
inline constexpr char kVariable[] = "variable";

/// The folder that the preparation of a point's command fills, below the results folder; "" where the command has none.
/// Points that tell the preparation the same have the same folder, as long as the program, the inputs and the data that
/// it is told of stay what `digests` say.
std::string preparedFolder(const plan::Plan& plan, const plan::Point& point,
                           const std::map<std::string, std::string>& digests);

/// Paths below that folder that arguments of the command, and of what runs before it, name: below the results folder,
/// and the keys in Match::data_digests of those that are files. There "" is the digest of one that nobody has seen yet.
std::set<std::string> preparedFilesOf(const plan::Plan& plan, const plan::Point& point,
                                      const std::map<std::string, std::string>& digests);

/// What a trial of the point is started with, a text each: of a command its arguments, those of its preparation and the
/// devices that it asks for (what each trial has of its own as `${seed}`); of a built-in workload its version and every
/// parameter. A point's id leaves out what is at its default, so one id may stand for something else once that changes.
std::vector<std::string> startedWith(const plan::Plan& plan, const plan::Point& point);

/// "a is gone, b is new, c has changed", with `values` "c was '1', now '2'": what differs by name.
std::string changes(const std::map<std::string, std::string>& then, const std::map<std::string, std::string>& now,
                    bool values);

/// The settings of `kind` as a trial stores them.
std::string settingsText(const plan::Plan& plan, plan::TrialKind kind);

/// The key of a trial of `place` that is measured now. The place must be one of the plan's, and `match` must have the
/// worker of its workload.
TrialKey keyOf(const plan::Plan& plan, const plan::Place& place, plan::TrialKind kind, const Match& match);

/// What verdicts on this plan are about.
JudgedPtr judgedOf(const plan::Plan& plan);

/// Says why trials do not count for one plan.
class Counting {
 public:
  /// Both must outlive this.
  Counting(const plan::Plan& plan, const Match& match) : plan_(plan), match_(match) {}
  /// Why an ended trial with this key does not count; "" if it may. Of the plan's points only. `then` is what the run
  /// that started it had, if that is known: where files or variables are others it is said which.
  std::string objection(const TrialKey& key, const Match* then = nullptr) const;
  /// Why this trial, whose key has no objection, does not; "" if it does.
  std::string objection(const Trial& trial) const;

 private:
  const TrialKey& wanted(const TrialKey& key) const;

  const plan::Plan& plan_;
  const Match& match_;
  mutable std::map<std::pair<plan::TrialKind, std::string>, TrialKey> wanted_;  // by kind and point
};

}  // namespace expc::store
