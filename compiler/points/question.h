#pragma once

// Answers questions about single points: what a system says of them, whether a criterion asks about them, and which
// values are published for them. Points come in as levels; walks over many points are left to survey.h.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/points/pairs.h"

namespace expc::points {

/// A system's remarks on the points of a study. They only mark points: no id, rule or digest depends on them.
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

/// Looks up published values for the points of a study. A row belongs to a point if every parameter that the row gives
/// has that value there; the first such row with the metric counts. Parameters that the reference does not name must
/// have the study's own values: nothing is published for a workload to which a preset or -D gives others.
class PublishedValues {
 public:
  PublishedValues(const expand::Space& space, const check::Published& published);

  /// A metric of the study at a point: as published, else derived from what is.
  std::optional<double> of(unsigned metric, expand::Levels point);
  /// A criterion's subject at a point where it has a value.
  std::optional<double> of(const check::Criterion& criterion, expand::Levels point);

 private:
  /// Rows that give the same parameters, by their values.
  struct Group {
    std::vector<unsigned> parameters;
    std::unordered_map<std::string, std::vector<size_t>> rows;
  };
  /// The value as the row has it.
  std::optional<double> read(unsigned metric, expand::Levels point);

  const expand::Space& space_;
  const check::Published& published_;
  std::vector<bool> elsewhere_;  // by workload of the study: it runs at other settings
  std::vector<Group> groups_;
  std::vector<plan::TermPtr> derived_;  // by metric of the study; null: measured
  expand::Assignment at_;
};

/// Calls `visit` for the points with these levels, until it says false.
void findPinned(const expand::Space& space, const std::vector<check::Pin>& pins,
                llvm::function_ref<bool(expand::Levels)> visit);

/// Which points a criterion asks about, and which of them are its cells.
class Question {
 public:
  Question(const expand::Space& space, const check::Criterion& criterion, Machine& machine);

  enum class Answer {
    No,           // not asked about
    Failed,       // a `where` has no value there
    Dropped,      // only the `where` of an `exists` leaves it out
    Unpublished,  // the reference has nothing for it
    Unfit,        // `where feasible` leaves it out: it is expected to run out of memory
    Unavailable,  // the system cannot run what it reads
    Cell
  };
  /// `value` says what the comparison that it judges has at `point` (comparedAt).
  Answer at(expand::Levels point, const Partner& value);
  void reportFailure(expand::Levels point, diag::Emitter& emitter) const;

  const check::Comparison* comparison = nullptr;  // that it judges; null where it judges none
  std::optional<double> published;                // for the last point that was asked about

 private:
  Answer selects(expand::Levels point) const;

  const check::Criterion& criterion_;
  Machine& machine_;
  std::vector<std::unique_ptr<expand::Condition>> where_;  // by quantifier; null without one
  std::unique_ptr<PublishedValues> reference_;             // null without one
};

/// The tree of a criterion's quantifiers without its leaves: enough to know what a design can decide, and small where
/// the points are many.
class Shape {
 public:
  explicit Shape(const check::Criterion& criterion) : criterion_(&criterion) {}

  void add(expand::Levels point);
  uint64_t cells() const { return root_.cells; }
  /// A factor of an `exists` before the last quantifier that has levels at some points and none at others, or -1.
  int absentAmongOthers() const { return absentAmongOthers(root_, 0); }
  /// How many repetitions an outcome needs at least, by docs/layers/statistics.md: a pass of a forall and a fail of an
  /// exists want every cell at alpha; a fail of a forall and a pass of an exists want one cell at Holm's first step.
  unsigned repetitionsToPass(double confidence) const {
    return needed(root_, 0, confidence, ast::QuantifierKind::ForAll, 1);
  }
  unsigned repetitionsToFail(double confidence) const {
    return needed(root_, 0, confidence, ast::QuantifierKind::Exists, 1);
  }

 private:
  struct Node {
    uint64_t cells = 0;
    std::map<std::vector<unsigned>, Node> groups;  // by the levels of one quantifier's factors; none for the last one
  };
  int absentAmongOthers(const Node& node, size_t depth) const;
  unsigned needed(const Node& node, size_t depth, double confidence, ast::QuantifierKind certain, uint64_t cells) const;

  const check::Criterion* criterion_;
  Node root_;
};

}  // namespace expc::points
