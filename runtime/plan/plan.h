#pragma once

// The plan: what crosses from the compiler to the runtime, in a versioned schema ("expc.plan/3"). A plan can be run and
// judged by a program that knows nothing of the language: points are resolved parameters, criteria are closed terms
// over point ids.

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/base/word.h"
#include "runtime/plan/validity.h"

namespace expc::base {
class JsonRecord;
}

namespace expc::plan {

inline constexpr int kPlanVersion = 3;

/// Kinds of trial. Their blocks, values and metrics are never mixed.
enum class TrialKind { Timed, Quality, Profile };

/// One level of a factor.
struct Level {
  std::string label;  // as it is written: "fp32", "2", "300px"
  json::Value value;  // as a parameter: base units
};

/// A factor of the study. Factors in lockstep are one factor, called "(loader, layout)", whose values are arrays.
struct Factor {
  std::string name;
  std::vector<Level> levels;          // of this plan (which may be restricted), in declared order
  std::optional<unsigned> baseline;   // index into levels; absent: none declared, or restricted away
  std::vector<std::string> declared;  // labels of the unrestricted study: "gpus 1, 2 of 1..4"
  bool inside = false;                // each process goes through its levels by itself
};

/// In Point::levels: the factor is not active at the point (its `when` does not hold). `null` in JSON.
inline constexpr unsigned kInactive = ~0u;

/// A resolved set of parameters. `id` is the first 16 hex digits of BLAKE3 over their canonical JSON
/// (docs/layers/store.md). It never depends on the point's position, so points keep their trials when a study
/// grows.
struct Point {
  std::string id;
  unsigned workload = 0;         // index into Plan::workloads
  std::vector<unsigned> levels;  // one index for each factor of the plan, or kInactive
  json::Object parameters;       // every active parameter, defaults included, in base units
  std::string unavailable;       // "" or the reason why this system cannot run it (rules with `system`)
  /// "" or the reason why the workload's memory estimate exceeds the system. Such a point is planned, but started
  /// only if asked for.
  std::string expected_infeasible;
  std::map<std::string, double> estimates;  // predicted bytes, by the metric's name
  /// The id of the process that measures the point together with others (Plan::processes); "": it has trials of its
  /// own.
  std::string process = "";

  /// Whether `run` starts trials of the point.
  bool startable() const { return unavailable.empty() && expected_infeasible.empty(); }
};

/// Number of nodes that a point asks for: its parameter `nodes`; 0 if it has none.
unsigned nodesOf(const Point& point);
/// Number of nodes that a point takes if each node has `each` devices: what it asks for, or else as few as have its
/// devices.
unsigned nodesOf(const Point& point, unsigned each);
/// Number of devices that a point takes on all its nodes: its parameter `gpus`, or else one on each of `nodes`, or
/// else 1.
unsigned devicesOf(const Point& point);

/// One place of a block: a point, or a control of it, which runs the same point once more.
struct Place {
  std::string point;         // its id
  std::string control = "";  // the control's name; "": the point itself
  Place() = default;
  Place(std::string point, std::string control = "") : point(std::move(point)), control(std::move(control)) {}
  Place(const char* point) : point(point) {}
  auto operator<=>(const Place&) const = default;
};

/// Points that a rule left out, counted by rule; `examples` are the first few as factor labels.
struct RemovedGroup {
  std::string rule;  // its name, or "line 12"
  std::string because;
  std::string location;  // "precision.exp:11:3"
  uint64_t count = 0;
  std::vector<std::vector<std::string>> examples;
};

/// The better end of a metric.
enum class Direction { Lower, Higher };

/// A metric: measured in trials of one kind, or derived from such metrics.
struct Metric {
  std::string name;
  std::string dimension;                               // "time", "bytes", "share", "images/time", …
  std::string unit;                                    // base unit: "s", "B", "", "img/s"
  std::optional<Direction> better = Direction::Lower;  // absent: a derived metric that does not declare it
  TrialKind kind = TrialKind::Timed;
  bool exact = false;   // bytes and counts: compared as they are, without noise
  bool series = false;  // one value for each epoch or logged step
  /// The definition of a derived metric: a term over metrics and parameters of one point; its MetricTerms have an
  /// empty place. Null for a measured metric.
  std::shared_ptr<const struct Term> derived = nullptr;
  std::string text = "";  // of a derived metric, as written: "launch_time / wall"
  /// A process has one value of it, however many points it measures; only its first point shows it.
  bool of_process = false;
  bool distribution = false;  // a series without an order, of which trials keep a sketch (plan/sketch.h)
};

/// The relations that a bound can demand; Within takes a band.
enum class Relation { GreaterEqual, Greater, LessEqual, Less, Equal, Within };

/// A bound that values are held to.
struct Bound {
  Relation relation = Relation::GreaterEqual;
  double low = 0;    // the bound, or the lower end of a band
  double high = 0;   // the upper end of a band
  std::string text;  // as written: ">= 1.2x"
};

/// The way from several values to one: of a command's metric from those that are read, of a derived metric from those
/// of a series.
struct Reduction {
  // Digests in journals hold the numbers (store::keyOf): a new one gets the next number, and no number ever changes.
  enum class Take { Last = 0, Median = 1, Mean = 2, Sum = 3, Min = 4, Max = 5, Count = 6, Percentile = 7 };
  Take take = Take::Last;
  double percentile = 0;         // of Percentile: 99.9
  uint64_t skip = 0;             // values at the beginning that are left out
  uint64_t first = 0, last = 0;  // how many of the others are taken, from either end; 0: all

  Reduction(Take take = Take::Last) : take(take) {}
  bool operator==(const Reduction&) const = default;
};

/// A closed term: it has no variables, and is evaluated inside one block (evaluate.h).
struct Term;
using TermPtr = std::shared_ptr<const Term>;
/// A number.
struct ConstantTerm {
  double value;
};
/// A metric of a point: measured, derived, or a series. A series counts by its last value, except in FirstTerm,
/// GapTerm and ReduceTerm.
struct MetricTerm {
  std::string metric;
  Place place;  // empty inside Metric::derived
};
/// A value computed from others. Ratio takes two values above zero and is estimated on log differences. The others
/// are plain arithmetic: Sum, Product, Max and Min of two or more operands, the others of two.
struct OperationTerm {
  enum class Op { Sum, Difference, Product, Quotient, Ratio, Max, Min } op;
  std::vector<TermPtr> operands;
};
/// `epochs_to(accuracy >= 97%)`: the position, from 1, of the first value of a series that satisfies the bound.
/// Infinite if none does, which ranks as worse than every value.
struct FirstTerm {
  MetricTerm series;
  Bound bound;
};
/// `max_gap(loss)`: the largest distance between two series at one position, as far as both go.
struct GapTerm {
  MetricTerm treated, baseline;
};
/// `factor` times a term. It has the estimator of its operand.
struct ScaleTerm {
  double factor;
  TermPtr term;
};
/// Several values of one block as one: `geomean(gain) over program`. It has a value only if each part has one.
struct AggregateTerm {
  enum class Function { Geomean, Mean, Sum, Median, Min, Max } function = Function::Mean;
  std::vector<TermPtr> parts;    // at least one
  std::vector<TermPtr> weights;  // of the parts, above zero; empty: all alike. Of Geomean and Mean only.
};
/// Inside Metric::derived: a numeric parameter of the point.
struct ParameterTerm {
  std::string parameter;
};
/// `p99(latency, skip = 100)`, inside Metric::derived: one number of a series.
struct ReduceTerm {
  MetricTerm series;
  Reduction reduction;
};
/// `absent(energy)`: 1 where trials ended well and their output has no value of the term, 0 where it has one. Only the
/// whole term of a claim's cell.
struct AbsentTerm {
  TermPtr term;
};
/// A node of a term: one of the kinds above. Terms are immutable and may be shared.
struct Term {
  std::variant<ConstantTerm, MetricTerm, OperationTerm, FirstTerm, GapTerm, ScaleTerm, AggregateTerm, ParameterTerm,
               ReduceTerm, AbsentTerm>
      node;

  /// The node if it is of that type, else null.
  template <typename Node>
  const Node* as() const {
    return std::get_if<Node>(&node);
  }
};
template <typename Node>
TermPtr termOf(Node node) {
  return std::make_shared<const Term>(Term{std::move(node)});
}

/// The way from block values of a term to an estimate with an interval (docs/layers/statistics.md).
enum class Estimator {
  Median,           // a metric of one point: median, exact order-statistic interval
  PairedRatio,      // signed rank on logarithms of the block values
  PairedDifference  // signed rank
};

/// One cell of a comparison or criterion: a term at given levels.
struct Cell {
  std::vector<unsigned> levels;  // as Point::levels, one for each name in the owner's `factors`
  TermPtr term;
  Estimator estimator = Estimator::Median;
  TrialKind kind = TrialKind::Timed;
  std::vector<Place> points;  // every point that the term reads, the treated ones first
  unsigned treated = 1;       // how many of them are treated: of an aggregate one for each part
  /// The published value of this cell with its band, if the criterion asks for agreement with a reference.
  std::optional<Bound> bound = std::nullopt;
  /// For a comparison over a factor that counts devices: the value of perfect scaling. Absent: unknown.
  std::optional<double> ideal = std::nullopt;
  /// The assertion that it is a cell of: an index into Criterion::assertions, if there are any.
  unsigned assertion = 0;
};

/// A named comparison of the study, with one cell for each combination of levels.
struct Comparison {
  std::string name;
  std::string text;                  // "speedup(step_time) over precision against fp64"
  std::string over;                  // the compared factor; "" for an aggregate
  std::string unit;                  // "x" for ratios, else the metric's unit
  std::vector<std::string> factors;  // that Cell::levels are of: those of the plan that are not aggregated, in order
  std::vector<Cell> cells;
  uint64_t without_partner = 0;  // treated points whose partner was removed by a rule; parts that an aggregate lacks
  std::string without_partner_why;
};

/// The tree of quantifiers over a criterion's cells. `and` is a ForAll over its parts, and `or` an Exists.
struct Claim {
  enum class Kind { ForAll, Exists, Cell, AtLeast } kind = Kind::ForAll;
  std::vector<Claim> children;  // of all kinds but Cell
  unsigned cell = 0;            // of Kind::Cell: index into Criterion::cells
  unsigned least = 0;           // of Kind::AtLeast: how many children must hold

  /// How many children must hold.
  size_t needed() const {
    return kind == Kind::AtLeast  ? least
           : kind == Kind::Exists ? std::min<size_t>(1, children.size())
                                  : children.size();
  }
};

/// One of several bounds that a criterion joins by `and` and `or`.
struct Assertion {
  std::string text;         // as written: "gain[cache = true] >= 1.1x"
  bool infeasible = false;  // these three as in Criterion
  Bound bound;
  std::string unit;
};

/// A claim that the study makes, with the cells that decide it.
struct Criterion {
  std::string name;
  std::string text;  // source text without the name
  std::string doc;
  std::vector<std::string> factors;  // that Cell::levels are of
  std::vector<Cell> cells;           // cells that claim infeasibility stand last, if there are others
  /// The criterion claims that the points of its cells run out of memory; each cell has one point and a constant
  /// term.
  bool infeasible = false;
  Bound bound;
  std::optional<double> confidence;  // absent: the bound must hold in every valid trial
  std::string unit;                  // of the estimate, for printing: "x", "s", "" (a share, printed as %)
  Claim claim;
  std::string domain;      // for people: "gpus 1, 2 of 1..4; precision fp32"
  bool not_asked = false;  // a restricted study left no cell of it
  /// The definition of the comparison or derived metric that the text names: "gain = speedup(step_time) over
  /// precision against fp64". "" if it names a measured metric.
  std::string where = "";
  /// The assertions, if there are several: they then replace `infeasible`, `bound` and `unit`, of which `infeasible`
  /// says whether all of them are.
  std::vector<Assertion> assertions = {};
  /// The value that the study expects, as written: "1.5x noise 8%". "" if it expects none.
  std::string expected = "";
};

/// `until half_width(gain) <= 1%`: a rule that ends repetitions. They go on until the interval of every cell of a
/// comparison (or of every point of a metric) reaches at most `half_width` to each side: a share of the estimate if
/// `relative`, else in the subject's unit.
struct Until {
  std::string subject;
  double half_width = 0;
  bool relative = false;
};

/// The design of one kind of trial.
struct KindDesign {
  TrialKind kind = TrialKind::Timed;
  unsigned repeat = 1;
  unsigned repeat_most = 1;  // larger than `repeat` only with `until`
  std::vector<Until> until;  // all must hold; checked at the end of each block
  json::Object settings;     // {"steps": 20, "warmup": 5}, {"epochs": 10}, for commands {"uncounted_starts": 3}
  /// Planned looks: repetitions after which verdicts are made, which end the trials if all are decided. Ascending,
  /// below `repeat`, and only without `until`.
  std::vector<unsigned> looks = {};
  std::optional<double> timeout_seconds = {};  // of one trial; takes precedence over a command's own
  std::optional<double> takes_seconds = {};    // of one trial, a mean over the points that the author expects

  /// The largest number of repetitions that the design allows.
  unsigned most() const { return until.empty() ? repeat : std::max(repeat, repeat_most); }
};

/// How long services live, and so which effect of a service is randomised: each block, trial or session starts anew.
enum class Restart { Block, Trial, Session };

/// The design of the study.
struct Design {
  std::vector<KindDesign> kinds;
  uint64_t seed = 0;
  std::optional<double> budget_seconds;
  Validity validity;
  unsigned share = 1;  // blocks that may run at a time on one machine, each on devices of its own
  Restart restart = Restart::Block;
};

/// A table of the report: the values of a metric or comparison by factors, or a description of metrics.
struct Table {
  std::string subject;
  std::vector<std::string> by;
  enum class Shows { Values, Effects, Ranking, Front } shows = Shows::Values;
  std::string other = "";  // of a Front: its second metric
};
/// The x-axis of a plot: levels of a factor, positions in a series, or values of a second metric.
enum class PlotKind { Factor, Series, Metrics };
/// A plot of the report.
struct Plot {
  std::string subject;
  std::string over;  // a factor, another metric, or the position in a series ("epoch", "step")
  std::vector<std::string> by;

  /// The kind, by what `over` names in the plan.
  PlotKind kind(const struct Plan& plan) const;
};

/// How a number of a command's trial is read.
struct CommandMetric {
  std::string name;
  /// Lines: each line that is not blank is a number. Size: the bytes of a file, or of the files of a folder. Same: only
  /// of an expectation, that two files have the same bytes.
  /// Digests in journals hold the numbers (store::keyOf): a new one gets the next number, and no number ever changes.
  enum class From { Regex = 0, Json = 1, Csv = 2, Lines = 3, Size = 4, Same = 5 } from = From::Regex;
  std::string file;     // in the trial's folder, the only one that `*` matches; "": standard output (Regex, Lines)
  std::string where;    // the pattern with one group, the JSON pointer, the column, or the other file of Same
  double scale = 1;     // what is read times this is in base units
  bool series = false;  // every match or row; else the last
  using Take = Reduction::Take;
  std::optional<Reduction> take = {};  // one number of several; absent: the last match or row, and no JSON array
  bool optional = false;               // where the output has no value the trial has none, and stays valid
  // The following are of commands whose processes go through levels by themselves (Command::inside), and of the readers
  // of other programs' formats.
  bool row = false;           // each row of the table, which names its levels, has a value
  bool text = false;          // of a key: the level is the text that is read, and no number
  std::string group = "";     // Regex: the named group with the value; "": the only group
  std::string part = "";      // a pattern whose group takes the value out of the text that is read
  std::string units = "";     // the place, like `where`, of the word for the unit, as "ms"; ".": behind the number
  bool distribution = false;  // a series that becomes a sketch
};

/// An expectation about a trial's output, without which the trial is not valid: a number within a bound; or,
/// without a bound, that a pattern matches, a JSON value is true, or two files are equal.
struct Expectation {
  CommandMetric read;  // its name is the expectation's text
  std::optional<Bound> bound;
};

/// A program that runs before the first trial, once for each combination of the parameters that its arguments name.
struct Preparation {
  std::vector<std::string> arguments;  // as in Command; "${prepared}" stands for its folder
  std::optional<double> timeout_seconds;
};

/// How a service shows that programs may use it.
struct Ready {
  /// Http: an answer of success; Tcp: a connection; Regex: a line of its output; File: a file in its folder.
  enum class By { Http, Tcp, Regex, File } by = By::Tcp;
  std::string what;                       // the path, pattern or file; "" for Tcp
  std::optional<double> timeout_seconds;  // absent: kReadySeconds
  std::string metric = {};                // the workload's metric that is the time until then; "": none
  /// The workload's metrics that are the processor time, the largest resident set and the largest sample of device
  /// memory of the service during a trial.
  std::string cpu_time = {}, memory = {}, device_memory = {};

  /// Whether the metric is one of the service.
  bool yields(std::string_view name) const {
    return name == metric || name == cpu_time || name == memory || name == device_memory;
  }
};
/// Seconds within which a service must be ready if it does not say.
inline constexpr double kReadySeconds = 60;

struct Service;

/// A workload that is a program of the user's: a vector of arguments, never a shell line. Or a service, which has
/// `ready`: it runs until it is told to end.
struct Command {
  std::vector<std::string> arguments;  // "${gpus}" stands for a parameter, "$$" for a dollar sign
  std::optional<double> timeout_seconds;
  std::vector<std::string> inputs;  // files and patterns that it reads, for digests
  std::vector<CommandMetric> metrics;
  /// The parameters whose levels a process goes through by itself, and where each row of its output names them.
  std::vector<CommandMetric> inside = {};
  std::vector<std::string> copied = {};  // inputs that each trial gets a copy of, not a link
  std::vector<Expectation> expectations = {};
  std::optional<Preparation> preparation = {};
  std::vector<std::string> before = {};   // as `arguments`; runs untimed before each start, in the trial's folder
  std::vector<unsigned> exit_codes = {};  // of a success; empty: only 0
  bool ranks = false;                     // a process for each device (`gpus`); else one on each node
  std::optional<Ready> ready = {};
  std::vector<Service> services;  // those that must be ready while it runs
};

/// A service of a workload. "${NAME.host}" and "${NAME.port}" among the workload's arguments are its address, "${host}"
/// and "${port}" among its own.
struct Service {
  std::string name;
  Command command;
  std::vector<std::string> parameters;  // those of the workload that it reads: their values tell instances apart
};

/// A workload: a program, with the name and version that points refer to.
struct Workload {
  std::string label;  // the study's name for it: "ours"; "" if the study has only one
  std::string name;   // "image.mobilenet_v2"
  int version = 1;
  std::optional<Command> command;  // absent: built in, run by expc-worker
};

/// A control: a point that runs once more in every block, to see how much two runs of the same differ.
struct Control {
  std::string name;
  std::string point;
};

/// The control of a design with `share` above 1: its trials run while nothing else of the run does on their
/// machine. Beside it, the point itself shows whether the others disturb it. No study can declare a control of this
/// name.
inline constexpr char kAlone[] = "run.alone";

/// Published values, which the report shows beside measured ones.
struct Reference {
  std::string name;
  std::string source;  // the file, as the study names it
  /// The published value of one metric at one point.
  struct Value {
    std::string point;
    std::string metric;
    double value = 0;
  };
  std::vector<Value> values;
};

/// The highest rates of the system that a plan is made for, in base units per second; absent: unknown.
struct Rates {
  std::map<std::string, double> products;  // operations of matrix products, by type: "bf16"
  std::optional<double> memory;            // bytes from and to a device's memory
  std::optional<double> link;              // bytes between a device and all others, per direction
  std::optional<double> host_link;         // bytes between host and device, per direction
};

/// A study, resolved for one system: everything that is run, judged and shown.
struct Plan {
  int version = kPlanVersion;
  std::string study;
  std::string doc;
  std::string source;                  // path of the .exp, as given
  std::string root;                    // absolute folder that relative paths in parameters start from
  std::vector<std::string> presets;    // in the order applied
  std::vector<std::string> overrides;  // "-D" texts
  std::vector<Workload> workloads;     // at least one; Point::workload says which
  std::string system;                  // the system it was made for: "local", "proxima"; "" if none was named
  Rates rates;                         // of that system
  std::string digest;                  // of the lowered study, without data of the system
  std::vector<Factor> factors;
  std::vector<Point> points;
  std::vector<RemovedGroup> removed;
  uint64_t product = 0;         // number of points before rules
  std::vector<Metric> metrics;  // measured, in order
  std::vector<std::string>
      data_paths;  // distinct paths (as in parameters) that points read, for digests and cache warming
  std::vector<Comparison> comparisons;
  std::vector<Criterion> criteria;
  std::vector<Control> controls;
  std::vector<Reference> references;
  Design design;
  std::vector<Table> tables;
  std::vector<Plot> plots;

  /// Points that one process measures, and the process as a point: without levels of inside factors, and with the list
  /// of the levels asked as the parameter.
  struct Process {
    Point whole;
    std::vector<unsigned> rows;  // indices into `points`
  };

  /// The point or process with this id, or null. Code that has filled `points` calls indexPoints(), so that a search
  /// does not look at each; points that were changed since are still found.
  const Point* findPoint(std::string_view id) const;
  /// Orders the ids for findPoint(), and makes `processes` of the points.
  void indexPoints();
  const std::vector<Process>& processes() const { return processes_; }
  /// The process with this id, or null.
  const Process* findProcess(std::string_view id) const;
  /// The process that is started for a point, or the point itself.
  const Point& startedFor(const Point& point) const;
  /// The points and processes that trials are of.
  std::vector<const Point*> started() const;
  /// Whether the metric has a value of its own at the point: that of a process is told by its first point.
  bool tells(const Metric& metric, const Point& point) const;
  /// The metric with this name, measured or derived, or null.
  const Metric* findMetric(std::string_view name) const;
  /// Whether some workload is a command.
  bool hasCommands() const {
    return std::ranges::any_of(workloads, [](const Workload& one) { return one.command.has_value(); });
  }
  /// Whether some workload is built in; only these have profiles.
  bool hasBuiltIn() const {
    return std::ranges::any_of(workloads, [](const Workload& one) { return !one.command; });
  }
  /// Whether some workload has services.
  bool hasServices() const;
  /// Whether a command's output is where the metric is read. Any other is measured from outside, or by a worker.
  bool readsInOutput(std::string_view metric) const;
  /// The levels of a point with their factors: "precision=fp32 gpus=2". Bare labels would be ambiguous. Factors
  /// that are not active at the point are left out.
  std::string label(const Point& point) const;
  /// A level of a factor as tables show it: "–" where the factor is not active.
  std::string levelLabel(size_t factor, unsigned level) const;
  std::string levelLabel(const Point& point, size_t factor) const {
    return levelLabel(factor, factor < point.levels.size() ? point.levels[factor] : kInactive);
  }
  /// The labels of a cell's levels, in the order of `factors`, which are those of its comparison or criterion.
  std::vector<std::string> levelLabels(const std::vector<std::string>& factors, const Cell& cell) const;

 private:
  std::vector<uint32_t> by_id_;     // indices into `points`, in the order of ids
  std::vector<Process> processes_;  // in the order of ids
};

/// The words of enumerators in the schema, some of which the language has, too.
namespace words {

using From = CommandMetric::From;
using Take = CommandMetric::Take;
using Op = OperationTerm::Op;
using Shows = Table::Shows;

inline constexpr base::Word<TrialKind> kKind[] = {
    {"timed", TrialKind::Timed}, {"quality", TrialKind::Quality}, {"profile", TrialKind::Profile}};
inline constexpr base::Word<Direction> kDirection[] = {{"lower", Direction::Lower}, {"higher", Direction::Higher}};
inline constexpr base::Word<Shows> kShows[] = {
    {"values", Shows::Values}, {"effects", Shows::Effects}, {"ranking", Shows::Ranking}, {"front", Shows::Front}};
inline constexpr base::Word<Estimator> kEstimator[] = {{"median", Estimator::Median},
                                                       {"paired_ratio", Estimator::PairedRatio},
                                                       {"paired_difference", Estimator::PairedDifference}};
inline constexpr base::Word<Relation> kRelation[] = {{">=", Relation::GreaterEqual}, {">", Relation::Greater},
                                                     {"<=", Relation::LessEqual},    {"<", Relation::Less},
                                                     {"==", Relation::Equal},        {"within", Relation::Within}};
inline constexpr base::Word<Claim::Kind> kClaim[] = {{"forall", Claim::Kind::ForAll},
                                                     {"exists", Claim::Kind::Exists},
                                                     {"cell", Claim::Kind::Cell},
                                                     {"at_least", Claim::Kind::AtLeast}};
inline constexpr base::Word<Op> kOperation[] = {{"sum", Op::Sum},         {"difference", Op::Difference},
                                                {"product", Op::Product}, {"quotient", Op::Quotient},
                                                {"ratio", Op::Ratio},     {"max", Op::Max},
                                                {"min", Op::Min}};
inline constexpr base::Word<AggregateTerm::Function> kAggregate[] = {
    {"geomean", AggregateTerm::Function::Geomean}, {"mean", AggregateTerm::Function::Mean},
    {"sum", AggregateTerm::Function::Sum},         {"median", AggregateTerm::Function::Median},
    {"min", AggregateTerm::Function::Min},         {"max", AggregateTerm::Function::Max}};
inline constexpr base::Word<From> kFrom[] = {{"regex", From::Regex}, {"json", From::Json}, {"csv", From::Csv},
                                             {"lines", From::Lines}, {"size", From::Size}, {"same", From::Same}};
inline constexpr base::Word<Ready::By> kReady[] = {
    {"http", Ready::By::Http}, {"tcp", Ready::By::Tcp}, {"regex", Ready::By::Regex}, {"file", Ready::By::File}};
inline constexpr base::Word<Restart> kRestart[] = {
    {"block", Restart::Block}, {"trial", Restart::Trial}, {"session", Restart::Session}};
inline constexpr base::Word<Take> kTake[] = {
    {"last", Take::Last}, {"median", Take::Median}, {"mean", Take::Mean},   {"sum", Take::Sum},
    {"min", Take::Min},   {"max", Take::Max},       {"count", Take::Count}, {"percentile", Take::Percentile}};

}  // namespace words

constexpr auto& wordsOf(TrialKind) { return words::kKind; }
constexpr auto& wordsOf(Restart) { return words::kRestart; }
constexpr auto& wordsOf(Table::Shows) { return words::kShows; }
std::string_view toString(TrialKind kind);
/// A bound as it is written: ">= 1.2x".
std::string relationText(Relation relation, const std::string& end);
/// The design of a kind of trial; null where no such trial is planned.
const KindDesign* designOf(const Plan& plan, TrialKind kind);

/// The plan as JSON, and back. Reading checks the version and every field, and that indices and names fit; the
/// error names the JSON path.
json::Value toJson(const Plan& plan);
Expected<Plan> planFromJson(const json::Value& value);
/// Terms and claims are evaluated by recursion: a plan nests them at most this deep.
inline constexpr unsigned kMostDepth = 64;

/// Whether the plan can be written and read again. Called for every plan before anything is measured for it, so
/// that no store keeps a plan that cannot be read any more.
Error validate(const Plan& plan);

/// Fields of what plans, specifications and locks share; a timeout is absent or above 0.
void describe(base::JsonRecord& io, Bound& bound);
void describe(base::JsonRecord& io, Expectation& expectation);
void describe(base::JsonRecord& io, Ready& ready);
void describe(base::JsonRecord& io, Service& service);
void describe(base::JsonRecord& io, Command& command);
/// Its fields stand among those of what has it.
void describe(base::JsonRecord& io, Reduction& reduction);
void describeTimeout(base::JsonRecord& io, std::optional<double>& seconds);

/// Why `text` cannot be the name of a study, workload, point or control; nothing if it can. Such a name is one file's
/// name, stays inside the folder that it is put into, and can be printed: it is not empty, does not begin with a dot,
/// and has no '/', '#' or control character.
std::optional<std::string> whyNoName(std::string_view text);

}  // namespace expc::plan

namespace expc {
/// The words of a plan that need no prefix.
using plan::Comparison, plan::Criterion, plan::Estimator, plan::KindDesign, plan::Metric, plan::MetricTerm, plan::Place,
    plan::Plan, plan::Point, plan::TrialKind;
}  // namespace expc
