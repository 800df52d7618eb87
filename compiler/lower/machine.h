#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/expand/space.h"

namespace expc::lower {

/// What a system says about the points of a study. It only marks them: no id, rule or digest depends on it.
class Machine {
 public:
  /// Null: no system was asked for, and nothing is said.
  Machine(const expand::Space& space, const check::System* system);

  /// "" or why the system cannot run a point: a rule with `system`. A rule that reads what is not known of the system,
  /// or has no value at the point, says nothing.
  const std::string& unavailable(expand::Levels point) const;
  /// "" or why a point is expected to run out of memory: the workload's estimate is above what a device has.
  const std::string& expectedInfeasible(expand::Levels point);

  bool judgesAvailability() const { return !rules_.empty(); }
  bool judgesMemory() const { return !estimates_.empty(); }

  /// The place of the estimate that made the last answer of expectedInfeasible.
  source::Range estimateRange() const { return range_; }

 private:
  struct Rule {
    std::unique_ptr<expand::Condition> condition;
    expand::Condition::Answer excludes;
    std::string why;
  };
  /// The parts of one metric's estimate.
  struct Estimate {
    unsigned metric = 0;
    std::vector<const check::Estimate*> parts;
    std::vector<unsigned> factors, parameters;        // that the parts read
    std::unordered_map<uint64_t, std::string> known;  // by the levels of the factors
  };
  std::string judge(const Estimate& estimate, expand::Levels point);

  const expand::Space& space_;
  const check::System* system_;
  std::vector<Rule> rules_;
  std::vector<Estimate> estimates_;
  expand::Assignment at_;
  source::Range range_;
  std::string overflow_;
};

/// "94 GB", "80.5 GB"
std::string bytesText(double bytes);

}  // namespace expc::lower
