#pragma once

// Answers questions about single points: what a system says of them, which values are published for them, and
// whether a criterion asks about them. Points come in as levels; survey.h walks over many.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/points/pairs.h"
#include "runtime/base/llvm.h"

namespace expc::points {

/// A system's remarks on the points of a study: which it cannot run, and which are expected to run out of
/// memory. They only mark points; no id, rule or digest depends on them. Not thread-safe.
class Machine {
 public:
  /// `system` may be null: then only estimates are known, without a capacity to compare them with. `lookup`
  /// answers what estimates ask of files; it must outlive this.
  Machine(const Space& space, const check::System* system, const check::Lookup& lookup);

  /// The reason why the system cannot run a point (a rule that reads `system`), or "". A rule that reads an
  /// unknown property, or has no value at the point, excludes nothing.
  const std::string& unavailable(Levels point) const;
  /// The reason why a point is expected to run out of memory, or "": an estimate of device memory exceeds a
  /// device's, or one of host memory the host's. `place` gets where that estimate is declared.
  std::string expectedInfeasible(Levels point, source::Range* place = nullptr);
  /// The workload's estimates at a point, by the metric's name, in bytes. Estimates without a value there are
  /// left out.
  std::map<std::string, double> estimates(Levels point);

  /// Whether the system can run every point that the comparison's value at `point` reads (which must exist);
  /// without a comparison, the point itself.
  bool runs(const check::Comparison* comparison, Levels point) const;
  /// The first of these points that is expected to run out of memory; `why` is "" if none is.
  struct Infeasible {
    std::string why;
    std::vector<unsigned> point;
    /// The place where the estimate is declared.
    source::Range range;
  };
  Infeasible infeasible(const check::Comparison* comparison, Levels point);

 private:
  /// A rule that reads `system`: the answer by which it excludes a point, and the reason for people.
  struct Rule {
    std::unique_ptr<expand::Condition> condition;
    expand::Condition::Answer excludes;
    std::string why;
  };
  /// The estimate of one metric, which is the sum of its parts.
  struct Estimate {
    unsigned metric = 0;
    std::vector<const check::Estimate*> parts;
    /// Read by the parts.
    std::vector<unsigned> factors, parameters;
    /// Bytes by the levels of `factors` (expand::keyOf); nothing where there is no value.
    std::unordered_map<uint64_t, std::optional<double>> known;
    /// The bytes that the system has for it; nothing if unknown.
    std::optional<double> capacity;
    /// The owner of that memory in messages: "a device".
    std::string_view of;
  };
  /// Processes that share memory at a point: how many take the estimate each, and how many bytes there are in all.
  struct Shared {
    double processes = 1, bytes = 0;
    std::string_view of;
  };
  Shared sharedAt(const Estimate& estimate, Levels point);
  /// The estimate at a point; points that agree in its factors share one evaluation.
  std::optional<double> bytesAt(Estimate& estimate, Levels point);
  std::optional<double> evaluate(const Estimate& estimate, Levels point);

  const Space& space_;
  const check::System* system_;
  std::vector<Rule> rules_;
  std::vector<Estimate> estimates_;
  expand::Assignment at_;
};

/// Looks up published values for the points of a study. A row belongs to a point if every parameter that the
/// row gives has that value there; the first such row with the metric counts. Parameters that the reference
/// does not name must have the study's own values: a preset or `-D` that changes one means another experiment,
/// for which nothing is published. Refers to the space and the reference, which must outlive it.
class PublishedValues {
 public:
  PublishedValues(const Space& space, const check::Published& published);

  /// A metric of the study at a point: the published value, else one derived from published values.
  std::optional<double> of(unsigned metric, Levels point);
  /// The published value of an assertion's subject, at a point where the subject has a value.
  std::optional<double> of(const check::Assertion& assertion, Levels point);

 private:
  /// Rows that give the same parameters, by the values of these.
  struct Group {
    std::vector<unsigned> parameters;
    std::unordered_map<std::string, std::vector<size_t>> rows;
  };
  /// The value that a row states itself.
  std::optional<double> read(unsigned metric, Levels point);

  const Space& space_;
  const check::Published& published_;
  // For each workload of the study: it runs with other settings than the study's, so nothing is published for
  // it.
  std::vector<bool> elsewhere_;
  std::vector<Group> groups_;
  // For each metric of the study its formula; null if it is measured.
  std::vector<plan::TermPtr> derived_;
  expand::Assignment at_;
};

/// Calls `visit` for the points with these levels, until it returns false.
void findPinned(const Space& space, const std::vector<check::Pin>& pins, function_ref<bool(Levels)> visit);

/// Decides for each point whether an assertion asks about it, and whether it is one of its cells.
class Question {
 public:
  Question(const Space& space, const check::Assertion& assertion, Machine& machine);

  enum class Answer {
    /// The assertion does not ask about the point.
    No,
    /// A `where` has no value there.
    Failed,
    /// Only the `where` of an `exists` leaves it out.
    Dropped,
    /// The reference publishes nothing for it.
    Unpublished,
    /// `where feasible` leaves it out: it is expected to run out of memory.
    Unfit,
    /// The system cannot run a point that its value reads.
    Unavailable,
    /// The assertion judges it.
    Cell
  };
  /// `value` is the partner of the judged comparison at `point` (Compared::value), ignored if there is none.
  Answer at(Levels point, const Partner& value);
  /// After Failed: reports why the `where` has no value.
  void reportFailure(Levels point, diag::Emitter& emitter) const;

  /// The comparison that it judges; null if it judges a metric, or that points run out of memory.
  const check::Comparison* comparison = nullptr;
  /// The published value for the last point that was asked about, for a criterion with `like`.
  std::optional<double> published;

 private:
  /// The answer from levels and `where`s alone: No, Failed, Dropped or Cell.
  Answer selects(Levels point) const;

  const check::Assertion& assertion_;
  Machine& machine_;
  // The condition of each quantifier; null without one.
  std::vector<std::unique_ptr<expand::Condition>> where_;
  // Null unless the criterion has `like`.
  std::unique_ptr<PublishedValues> reference_;
};

/// The tree of an assertion's quantifiers over its points, without the leaves: enough to know what a design can
/// decide, and small even for many points, since the last quantifier is only counted.
class Shape {
 public:
  explicit Shape(const check::Assertion& assertion) : assertion_(&assertion) {}

  /// Counts one point.
  void add(Levels point);
  /// The number of points added.
  uint64_t cells() const { return root_.cells; }
  /// A factor of an `exists`, before the last quantifier, that has a level at some points and none at others;
  /// -1 if there is none.
  int absentAmongOthers() const { return absentAmongOthers(root_, 0); }
  /// The fewest repetitions with which a criterion of this one assertion can pass or fail at this confidence
  /// (docs/layers/statistics.md). Passing a `forall` and failing an `exists` needs every cell at alpha. Failing
  /// a `forall` and passing an `exists` needs one cell at Holm's first step, alpha divided by the number of
  /// cells.
  unsigned repetitionsToPass(double confidence) const {
    return needed(root_, 0, confidence, ast::QuantifierKind::ForAll, 1);
  }
  unsigned repetitionsToFail(double confidence) const {
    return needed(root_, 0, confidence, ast::QuantifierKind::Exists, 1);
  }

 private:
  /// A node of the tree: its points, and its children by the levels of one quantifier's factors. The last
  /// quantifier's nodes have no children.
  struct Node {
    uint64_t cells = 0;
    std::map<std::vector<unsigned>, Node> groups;
  };
  int absentAmongOthers(const Node& node, size_t depth) const;
  unsigned needed(const Node& node, size_t depth, double confidence, ast::QuantifierKind certain, uint64_t cells) const;

  const check::Assertion* assertion_;
  Node root_;
};

/// Looks whether the factors that an assertion leaves open (check::Assertion::open) have one level at each combination
/// of levels that it is about, so that it has one reading.
class Reading {
 public:
  explicit Reading(const check::Assertion& assertion) : assertion_(&assertion) {}

  /// Looks at one point that it asks about.
  void add(Levels point);
  /// The open factors that have several levels at some combination, ascending.
  const std::vector<unsigned>& several() const { return several_; }
  /// The point at which the last of them was found.
  const std::vector<unsigned>& example() const { return example_; }

 private:
  const check::Assertion* assertion_;
  // The levels of the open factors, by those of the quantified ones.
  std::map<std::vector<unsigned>, std::vector<unsigned>> first_;
  std::vector<unsigned> several_, example_;
};

}  // namespace expc::points
