#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/points/pairs.h"

namespace expc::points {

/// What a system says about the points of a study. It only marks them: no id, rule or digest depends on it.
class Machine {
 public:
  /// Without a system only estimates are known; `lookup` says what they ask of files, and must live longer.
  Machine(const expand::Space& space, const check::System* system, const check::Lookup& lookup);

  /// "" or why the system cannot run a point: a rule with `system`. A rule that reads what is not known of the system,
  /// or has no value at the point, says nothing.
  const std::string& unavailable(expand::Levels point) const;
  /// "" or why a point is expected to run out of memory: an estimate of device memory is above what
  /// a device has, or one of host memory above what the host has. `place` gets where that estimate is declared.
  std::string expectedInfeasible(expand::Levels point, source::Range* place = nullptr);
  /// The workload's estimates at a point, in bytes, by the metric's name. What has no value there is left out.
  std::map<std::string, double> estimates(expand::Levels point);

  /// Whether the system can run every point that a comparison reads where it has a value; without one, the point.
  bool runs(const check::Comparison* comparison, expand::Levels point) const;
  /// Why the first of these is expected to run out of memory, and which it is; "" where none is.
  struct Infeasible {
    std::string why;
    std::vector<unsigned> point;
    source::Range range;  // of the estimate
  };
  Infeasible infeasible(const check::Comparison* comparison, expand::Levels point);

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
    std::vector<unsigned> factors, parameters;                  // that the parts read
    std::unordered_map<uint64_t, std::optional<double>> known;  // bytes, by the levels of the factors
    std::optional<double> capacity;                             // that the system has for it, in bytes
    std::string_view of;                                        // whose: "a device"
  };
  std::optional<double> bytesAt(Estimate& estimate, expand::Levels point);
  std::optional<double> evaluate(const Estimate& estimate, expand::Levels point);

  const expand::Space& space_;
  std::vector<Rule> rules_;
  std::vector<Estimate> estimates_;
  expand::Assignment at_;
};

}  // namespace expc::points
