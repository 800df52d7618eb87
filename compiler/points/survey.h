#pragma once

// Walks once over the points of a selected study and collects counts for lints, outlines and digests. No point
// is kept, so the result's size depends on the declarations alone. question.h answers for each single point.

#include <optional>
#include <string>
#include <vector>

#include "compiler/points/joined_claim.h"
#include "compiler/points/point_writer.h"
#include "compiler/points/question.h"

namespace expc::points {

/// Counts for each level of each factor the points at which it occurs.
class Seen {
 public:
  explicit Seen(const Space& space) {
    for (const check::Factor& factor : space.study().factors) counts_.emplace_back(factor.levels.size(), 0);
  }
  void add(Levels levels) {
    for (size_t factor = 0; factor < levels.size(); ++factor)
      if (levels[factor] != expand::kAbsent) ++counts_[factor][levels[factor]];
  }
  uint64_t count(unsigned factor, unsigned level) const { return counts_[factor][level]; }

 private:
  // counts_[factor][level]
  std::vector<std::vector<uint64_t>> counts_;
};

/// An order-independent fingerprint of a set of point ids: the number, the sum, and a sum of products that
/// tells apart sets of equal sum. Part of a plan's digest, so the formula must not change.
struct IdSums {
  uint64_t count = 0, sum = 0, mix = 0;

  void add(uint64_t id) { ++count, sum += id, mix += id * (id >> 32 | 1); }
};

/// The findings of one walk over the points of a selected study.
struct Survey {
  /// Counts for one comparison over the treated points.
  struct OfComparison {
    /// Points with one partner, with none, with several. Of an aggregate: values, and parts that do not exist.
    uint64_t pairs = 0, without = 0, several = 0;
    /// The reasons of the points counted in `without`.
    std::map<Missing, uint64_t> reasons;
    /// A treated point with several baselines.
    std::vector<unsigned> example;
    /// Two groups of an aggregate with different parts, by the levels that each shares; empty if there are none.
    std::vector<std::vector<unsigned>> uneven;
    /// A part whose weight is not above zero; empty if there is none.
    std::vector<unsigned> weightless;
    /// The pairs that the system can run.
    uint64_t cells = 0;
    /// The cells that are expected to run out of memory.
    uint64_t infeasible = 0;
  };
  /// Counts for one assertion over the points that it asks about.
  struct OfAssertion {
    OfAssertion(const check::Assertion& assertion, const Space& space)
        : shape(assertion), reading(assertion), seen(space) {}
    /// The tree of all points that it asks about, also those that the system cannot run.
    Shape shape;
    Reading reading;
    /// Points left out because the reference publishes nothing for them; `example` is the first.
    uint64_t unpublished = 0;
    /// Points left out by `where feasible`.
    uint64_t unfit = 0;
    std::vector<unsigned> example;
    /// The cells: points that it asks about and the system can run.
    uint64_t cells = 0;
    /// The cells that are expected to run out of memory.
    uint64_t infeasible = 0;
    /// The estimate of the first of these in words, and where it is declared.
    std::string estimate;
    source::Range estimate_range;
    /// The levels that occur in the cells.
    Seen seen;
    /// Never: no point with the level is asked about. OnlyDropped: the `where` of an `exists` leaves all of
    /// them out.
    enum Asked : char { Never, OnlyDropped, Once };
    /// asked[factor][level]
    std::vector<std::vector<Asked>> asked;
    /// The points of `shape` for a claim that is composed (check::Criterion), whose tree joins assertions.
    std::vector<JoinedCell> points;
  };
  /// Counts for one criterion.
  struct OfCriterion {
    std::vector<OfAssertion> assertions;
    /// The cells of its claim that the system can run, and those of them that are expected to run out of memory
    /// although nothing claims it.
    uint64_t cells = 0, infeasible = 0;
    /// The tree over all points that a composed claim asks about, also those that the system cannot run.
    std::optional<JoinedClaim> joined = std::nullopt;

    /// The number of points that its claim asks about.
    uint64_t asked() const { return joined ? joined->cells().size() : assertions[0].shape.cells(); }
    /// Shape::repetitionsToPass() and its twin, for the whole claim.
    unsigned repetitionsToPass(double confidence) const {
      return joined ? joined->repetitionsToPass(confidence) : assertions[0].shape.repetitionsToPass(confidence);
    }
    unsigned repetitionsToFail(double confidence) const {
      return joined ? joined->repetitionsToFail(confidence) : assertions[0].shape.repetitionsToFail(confidence);
    }
  };

  explicit Survey(const Space& space) : seen(space) {}

  /// product: combinations before rules. available: points that the system can run. expected_infeasible: those
  /// of them that are expected to run out of memory.
  uint64_t product = 0, points = 0, available = 0, expected_infeasible = 0;
  /// Indexed like the study's rules, its comparisons, and the selection's criteria.
  std::vector<expand::Removed> removed;
  Seen seen;
  std::vector<OfComparison> comparisons;
  std::vector<OfCriterion> criteria;
  /// The ids of all points; only counted if `survey` is given a writer.
  IdSums ids;
  /// The distinct paths that some point reads.
  std::vector<std::string> data_paths;
  /// Pairs of a use and a parameter that was given a value although it is active at no point.
  std::vector<std::pair<unsigned, unsigned>> idle;
};

/// Reports that a study has more points than `most`, or (`exhausted`) that its rules left too many combinations
/// to judge (E0404).
void reportTooMany(const check::Study& study, uint64_t most, bool exhausted, diag::Emitter& emitter);

/// Walks over the points of a selected study once. Nothing after reporting too many points, a condition without
/// a value, or a parameter without one. With `writer` the ids are summed up.
std::optional<Survey> survey(const Space& space, Machine& machine, PointWriter* writer, uint64_t most_points,
                             diag::Emitter& emitter);

}  // namespace expc::points
