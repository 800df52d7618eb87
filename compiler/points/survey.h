#pragma once

// Walks once over the points of a selected study and collects counts for lints, outlines and digests. Points are not
// kept; question.h answers for each one.

#include <optional>
#include <string>
#include <vector>

#include "compiler/points/point_writer.h"
#include "compiler/points/question.h"

namespace expc::points {

/// At how many points each level occurs.
class Seen {
 public:
  explicit Seen(const expand::Space& space) {
    for (const check::Factor& factor : space.study().factors) counts_.emplace_back(factor.levels.size(), 0);
  }
  void add(expand::Levels levels) {
    for (size_t factor = 0; factor < levels.size(); ++factor)
      if (levels[factor] != expand::kAbsent) ++counts_[factor][levels[factor]];
  }
  uint64_t count(unsigned factor, unsigned level) const { return counts_[factor][level]; }

 private:
  std::vector<std::vector<uint64_t>> counts_;  // by factor and level
};

/// Tells sets of points apart, whatever their order.
struct IdSums {
  uint64_t count = 0, sum = 0, mix = 0;

  void add(uint64_t id) { ++count, sum += id, mix += id * (id >> 32 | 1); }
};

/// The findings of one walk over the points of a selected study. Its size does not depend on the number of points.
struct Survey {
  struct OfComparison {
    uint64_t pairs = 0, without = 0, several = 0;
    std::map<Missing, uint64_t> reasons;  // of `without`
    std::vector<unsigned> example;        // a treated point with several baselines
    uint64_t cells = 0;                   // pairs that the system can run
    uint64_t infeasible = 0;              // of these, expected to run out of memory
  };
  struct OfCriterion {
    OfCriterion(const check::Criterion& criterion, const expand::Space& space) : shape(criterion), seen(space) {}
    Shape shape;               // of all that it asks about
    uint64_t unpublished = 0;  // left out of these: the reference has nothing for them
    uint64_t unfit = 0;        // left out by `where feasible`
    std::vector<unsigned> example;
    uint64_t cells = 0;       // that the system can run
    uint64_t infeasible = 0;  // of these, expected to run out of memory
    std::string estimate;     // of the first one
    source::Range estimate_range;
    Seen seen;  // in the cells
    enum Asked : char { Never, OnlyDropped, Once };
    std::vector<std::vector<Asked>> asked;  // by factor and level: whether a point with it is asked about
  };

  explicit Survey(const expand::Space& space) : seen(space) {}

  uint64_t product = 0, points = 0, available = 0, expected_infeasible = 0;
  std::vector<expand::Removed> removed;  // by rule of the study
  Seen seen;
  std::vector<OfComparison> comparisons;  // by comparison of the study
  std::vector<OfCriterion> criteria;      // by criterion of the selection
  IdSums ids;                             // of all points; with `writer`
  std::vector<std::string> data_paths;    // distinct, that some point reads
  /// Uses and parameters that were given a value, and that are active at no point.
  std::vector<std::pair<unsigned, unsigned>> idle;
};

/// Reports that a study has more points than `most`, or that looking for them was given up (E0404).
void reportTooMany(const check::Study& study, uint64_t most, bool exhausted, diag::Emitter& emitter);

/// Looks at the points of a selected study once. Nothing after a report, as of more than `most_points`. With `writer`
/// the ids are summed up.
std::optional<Survey> survey(const expand::Space& space, Machine& machine, PointWriter* writer, uint64_t most_points,
                             diag::Emitter& emitter);

}  // namespace expc::points
