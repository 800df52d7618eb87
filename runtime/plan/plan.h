#pragma once

// The plan: what crosses from the compiler to the runtime, in a versioned schema ("expc.plan/3"). A plan can be run and
// judged by a program that knows nothing of the language: points are resolved parameters, criteria are closed terms
// over point ids.

#include <llvm/Support/Error.h>
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

#include "runtime/plan/validity.h"
#include "runtime/plan/word.h"

namespace expc::plan {

class JsonRecord;  // json_record.h

inline constexpr int kPlanVersion = 3;

/// Kinds of trial; never mixed.
enum class TrialKind { Timed, Quality, Profile };

struct Level {
  std::string label;        // as it is written: "fp32", "2", "300px"
  llvm::json::Value value;  // as a parameter: base units
};

/// A factor of the study. One in lockstep is called "(loader, layout)", its values are arrays.
struct Factor {
  std::string name;
  std::vector<Level> levels;          // of this (perhaps restricted) plan, in declared order
  std::optional<unsigned> baseline;   // index into levels; absent: none declared, or restricted away
  std::vector<std::string> declared;  // labels of the unrestricted study: "gpus 1, 2 of 1..4"
};

/// In Point::levels: the factor is not active there (its `when` does not hold). `null` in JSON.
inline constexpr unsigned kInactive = ~0u;

/// A resolved set of parameters. `id` is the first 16 hex digits of BLAKE3 over canonical JSON (docs/layers/store.md),
/// never a position.
struct Point {
  std::string id;
  unsigned workload = 0;          // index into Plan::workloads
  std::vector<unsigned> levels;   // one index for each factor of the plan, or kInactive
  llvm::json::Object parameters;  // every active parameter, defaults included, in base units
  std::string unavailable;        // "" or why this system cannot run it (rules with `system`)
  /// "" or why the workload's estimate does not fit the system: planned, not started unless asked for.
  std::string expected_infeasible;
  std::map<std::string, double> estimates;  // bytes by the metric's name; what the workload foretells of it

  /// Whether `run` starts trials of it.
  bool startable() const { return unavailable.empty() && expected_infeasible.empty(); }
};

/// How many nodes a point takes: its parameter `nodes`; 0: it says nothing of them.
unsigned nodesOf(const Point& point);
/// The same where each node has `each` devices: as few as have its devices, where it does not say how many.
unsigned nodesOf(const Point& point, unsigned each);
/// How many devices it takes, on all its nodes: its parameter `gpus`, else one on each of `nodes`, else 1.
unsigned devicesOf(const Point& point);

/// The occupant of one place of a block: a point, or one of its controls, which is the same point once more.
struct Place {
  std::string point;         // its id
  std::string control = "";  // its name; "": the point itself
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

enum class Direction { Lower, Higher };

struct Metric {
  std::string name;
  std::string dimension;                               // "time", "bytes", "share", "images/time", …
  std::string unit;                                    // base unit: "s", "B", "", "img/s"
  std::optional<Direction> better = Direction::Lower;  // absent of a derived one that does not say it
  TrialKind kind = TrialKind::Timed;
  bool exact = false;   // bytes and counts: compared as they are
  bool series = false;  // a value for each epoch or logged step
  /// The definition of a derived metric: a term over metrics and parameters of the point in question, whose MetricTerms
  /// have an empty place. Null: the metric is measured.
  std::shared_ptr<const struct Term> derived = nullptr;
  std::string text = "";  // of a derived metric: "launch_time / wall"
};

enum class Relation { GreaterEqual, Greater, LessEqual, Less, Equal, Within };

struct Bound {
  Relation relation = Relation::GreaterEqual;
  double low = 0;    // the bound, or the band's lower end
  double high = 0;   // the band's upper end
  std::string text;  // ">= 1.2x"
};

/// A closed term, evaluated inside one block.
struct Term;
using TermPtr = std::shared_ptr<const Term>;
struct ConstantTerm {
  double value;
};
/// A metric of a point: measured, derived, or a series (then its last value, but for FirstTerm and GapTerm).
struct MetricTerm {
  std::string metric;
  Place place;  // of no point inside Metric::derived: the point in question
};
/// A value computed from others. Ratio compares two values above zero and is estimated on log differences; the others
/// are plain arithmetic, of two operands or, where the order means nothing, of more.
struct OperationTerm {
  enum class Op { Sum, Difference, Product, Quotient, Ratio, Max, Min } op;
  std::vector<TermPtr> operands;
};
/// `epochs_to(accuracy >= 97%)`: the place, from 1, of the first value of a series that satisfies the bound. Where none
/// does it is infinite: worse than every value, in the ranks.
struct FirstTerm {
  MetricTerm series;
  Bound bound;
};
/// `max_gap(loss)`: the largest distance of two series at one place, as far as both go.
struct GapTerm {
  MetricTerm treated, baseline;
};
/// `factor` x term; keeps the estimator of its operand.
struct ScaleTerm {
  double factor;
  TermPtr term;
};
/// Inside Metric::derived: a number among the parameters of the point in question.
struct ParameterTerm {
  std::string parameter;
};
struct Term {
  std::variant<ConstantTerm, MetricTerm, OperationTerm, FirstTerm, GapTerm, ScaleTerm, ParameterTerm> node;
};
template <typename Node>
TermPtr termOf(Node node) {
  return std::make_shared<const Term>(Term{std::move(node)});
}

/// How the block values of a term become an estimate with an interval (docs/layers/statistics.md).
enum class Estimator {
  Median,           // a metric of a point: median, exact order-statistic interval
  PairedRatio,      // signed rank on logs
  PairedDifference  // signed rank
};

/// One cell of a comparison or criterion: a term at given levels. `treated` and `baseline` are the points paired.
struct Cell {
  std::vector<unsigned> levels;  // as Point::levels, one for each name in the owner's `factors`
  TermPtr term;
  Estimator estimator = Estimator::Median;
  TrialKind kind = TrialKind::Timed;
  std::vector<Place> points;  // every point the term reads, treated first
  /// The published value for this cell, with the band around it, where the criterion asks for agreement with a
  /// reference.
  std::optional<Bound> bound = std::nullopt;
  /// Of a comparison over what counts devices: the value of devices that lose nothing to each other. Absent: not known.
  std::optional<double> ideal = std::nullopt;
};

struct Comparison {
  std::string name;
  std::string text;  // "speedup(step_time) over precision against fp64"
  std::string over;
  std::string unit;                  // "x" for ratios, else the metric's unit
  std::vector<std::string> factors;  // that Cell::levels are of: the plan's factors in order
  std::vector<Cell> cells;
  uint64_t without_partner = 0;  // treated points whose partner a rule removed
  std::string without_partner_why;
};

/// The tree of quantifiers over cells.
struct Claim {
  enum class Kind { ForAll, Exists, Cell } kind = Kind::ForAll;
  std::vector<Claim> children;  // ForAll, Exists
  unsigned cell = 0;            // Cell: index into Criterion::cells
};

struct Criterion {
  std::string name;
  std::string text;  // source text without the name
  std::string doc;
  std::vector<std::string> factors;  // that Cell::levels are of
  std::vector<Cell> cells;
  /// The claim is that the points of its cells (one each, with a constant term) run out of memory.
  bool infeasible = false;
  Bound bound;
  std::optional<double> confidence;  // absent: must hold in every valid trial
  std::string unit;                  // of the subject, for printing: "x", "s", "" (share prints as %)
  Claim claim;
  std::string domain;      // "gpus 1, 2 of 1..4; precision fp32"
  bool not_asked = false;  // a restricted study left it no cell
  /// What the comparison or derived metric that the text names is: "gain = speedup(step_time) over precision against
  /// fp64"; "" where it names a measured metric.
  std::string where = "";
};

/// `until half_width(gain) <= 1%`: repetitions go on until the interval of every cell of a comparison (or of every
/// point of a metric) is at most this wide on each side, of the estimate if `relative`, else in the subject's unit.
struct Until {
  std::string subject;
  double half_width = 0;
  bool relative = false;
};

struct KindDesign {
  TrialKind kind = TrialKind::Timed;
  unsigned repeat = 1;
  unsigned repeat_most = 1;     // above `repeat` only with `until`
  std::vector<Until> until;     // all of them, judged at the ends of blocks
  llvm::json::Object settings;  // {"steps": 20, "warmup": 5}, {"epochs": 10}, of commands {"uncounted_starts": 3}
  /// Repetitions after which the verdicts are looked at, and end the trials where all are decided; rising, below
  /// `repeat`. Only without `until`.
  std::vector<unsigned> looks = {};
  std::optional<double> timeout_seconds = {};  // of one trial; goes before a command's own

  /// The most repetitions there can be.
  unsigned most() const { return until.empty() ? repeat : std::max(repeat, repeat_most); }
};

struct Design {
  std::vector<KindDesign> kinds;
  uint64_t seed = 0;
  std::optional<double> budget_seconds;
  Validity validity;
  unsigned share = 1;  // blocks that may run beside each other on one machine, each on its own devices
};

/// A table that the report shows as text: the values of a metric or comparison by factors, or a description of metrics.
struct Table {
  std::string subject;
  std::vector<std::string> by;
  enum class Shows { Values, Effects, Ranking, Front } shows = Shows::Values;
  std::string other = "";  // of a front: its second metric
};
enum class PlotKind { Factor, Series, Metrics };
struct Plot {
  std::string subject;
  std::string over;  // a factor, another metric, or the word for the places of a series ("epoch", "step")
  std::vector<std::string> by;

  PlotKind kind(const struct Plan& plan) const;
};

/// How a number of a command's trial is read.
struct CommandMetric {
  std::string name;
  /// Lines: each line that is not blank is a number. Size: the bytes of a file, or of the files of a folder. Same: only
  /// of an expectation, that two files have the same bytes.
  /// Digests in journals hold the numbers (store::keyOf): a new one gets the next number, and no number ever changes.
  enum class From { Regex = 0, Json = 1, Csv = 2, Lines = 3, Size = 4, Same = 5 } from = From::Regex;
  std::string file;     // relative to the trial's folder; "" is standard output (Regex and Lines only)
  std::string where;    // the pattern with one group, the JSON pointer, the column, or the other file of Same
  double scale = 1;     // what is read times this is in base units
  bool series = false;  // every match or row; else the last
  enum class Take { Last = 0, Median = 1, Mean = 2, Sum = 3, Min = 4, Max = 5 };  // numbers as of From
  std::optional<Take> take = {};  // which of several; absent: the last match or row, and no JSON array
};

/// An expectation of a trial's output, without which the trial is not valid: a number within a bound; without one, that
/// a pattern matches, that a JSON value is true, or that two files are the same.
struct Expectation {
  CommandMetric read;  // its name is how the expectation is written
  std::optional<Bound> bound;
};

/// A program that runs before the first trial, once for each combination of the parameters that it is told.
struct Preparation {
  std::vector<std::string> arguments;  // as Command's; "${prepared}" stands for its folder
  std::optional<double> timeout_seconds;
};

/// A workload of the user's: an argument vector, never a shell.
struct Command {
  std::vector<std::string> arguments;  // "${gpus}" stands for the parameter, "$$" for a dollar sign
  std::optional<double> timeout_seconds;
  std::vector<std::string> inputs;  // files and patterns it reads, for digests
  std::vector<CommandMetric> metrics;
  std::vector<std::string> copied = {};  // inputs of which each trial has copies instead of links
  std::vector<Expectation> expectations = {};
  std::optional<Preparation> preparation = {};
  std::vector<std::string> before = {};   // arguments as above: runs untimed before each start, in the trial's folder
  std::vector<unsigned> exit_codes = {};  // with which it ends well; none: 0 alone
};

struct Workload {
  std::string label;  // of the study: "ours"; "" where it has one workload
  std::string name;   // "image.mobilenet_v2"
  int version = 1;
  std::optional<Command> command;  // absent: built in, run by expc-worker
};

/// A second label on a point: run once more in every block, to see what the same twice differs by.
struct Control {
  std::string name;
  std::string point;
};

/// The control of a design that shares: its trials run while nothing else of the run does on their machine, so that the
/// point itself, which runs beside others, says whether these disturb it. No study can declare one of this name.
inline constexpr char kAlone[] = "run.alone";

/// Published values, for a report that shows ours beside them.
struct Reference {
  std::string name;
  std::string source;  // the file, as it was written
  struct Value {
    std::string point;
    std::string metric;
    double value = 0;
  };
  std::vector<Value> values;
};

/// The highest rates of the system that a plan is made for, in base units a second; absent where it does not say.
struct Rates {
  std::map<std::string, double> products;  // operations of matrix products by type: "bf16"
  std::optional<double> memory;            // bytes of a device's memory
  std::optional<double> link;              // bytes between a device and all others, in one direction
  std::optional<double> host_link;         // bytes between host and device, in one direction
};

struct Plan {
  int version = kPlanVersion;
  std::string study;
  std::string doc;
  std::string source;                  // path of the .exp as given
  std::string root;                    // absolute folder that relative paths in parameters start from
  std::vector<std::string> presets;    // in the order applied
  std::vector<std::string> overrides;  // "-D" texts
  std::vector<Workload> workloads;     // at least one; Point::workload says which
  std::string system;                  // what the plan was made for: "local", "proxima"; "" where none was asked
  Rates rates;                         // of that system
  std::string digest;                  // of the lowered study, without platform data
  std::vector<Factor> factors;
  std::vector<Point> points;
  std::vector<RemovedGroup> removed;
  uint64_t product = 0;         // size of the grid before rules
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

  /// Null where there is none. Whoever has filled `points` calls indexPoints() so that not each is looked at; points
  /// that were changed since are found all the same.
  const Point* findPoint(std::string_view id) const;
  void indexPoints();
  const Metric* findMetric(std::string_view name) const;
  /// "fp32 gpus=2"-like text: bare labels for enum factors would be ambiguous, so always "precision=fp32 gpus=2".
  /// Factors that are not active at the point are left out.
  std::string label(const Point& point) const;
  /// A level of a factor as tables show it: "–" where the factor is not active.
  std::string levelLabel(size_t factor, unsigned level) const;
  std::string levelLabel(const Point& point, size_t factor) const {
    return levelLabel(factor, factor < point.levels.size() ? point.levels[factor] : kInactive);
  }
  /// Those of a cell, whose owner has these `factors`.
  std::vector<std::string> levelLabels(const std::vector<std::string>& factors, const Cell& cell) const;

 private:
  std::vector<uint32_t> by_id_;  // places in `points`, by id
};

/// The words of enumerators in the schema, some of which the language has, too.
namespace words {

using From = CommandMetric::From;
using Take = CommandMetric::Take;
using Op = OperationTerm::Op;
using Shows = Table::Shows;

inline constexpr Word<TrialKind> kKind[] = {
    {"timed", TrialKind::Timed}, {"quality", TrialKind::Quality}, {"profile", TrialKind::Profile}};
inline constexpr Word<Direction> kDirection[] = {{"lower", Direction::Lower}, {"higher", Direction::Higher}};
inline constexpr Word<Shows> kShows[] = {
    {"values", Shows::Values}, {"effects", Shows::Effects}, {"ranking", Shows::Ranking}, {"front", Shows::Front}};
inline constexpr Word<Estimator> kEstimator[] = {{"median", Estimator::Median},
                                                 {"paired_ratio", Estimator::PairedRatio},
                                                 {"paired_difference", Estimator::PairedDifference}};
inline constexpr Word<Relation> kRelation[] = {{">=", Relation::GreaterEqual}, {">", Relation::Greater},
                                               {"<=", Relation::LessEqual},    {"<", Relation::Less},
                                               {"==", Relation::Equal},        {"within", Relation::Within}};
inline constexpr Word<Claim::Kind> kClaim[] = {
    {"forall", Claim::Kind::ForAll}, {"exists", Claim::Kind::Exists}, {"cell", Claim::Kind::Cell}};
inline constexpr Word<Op> kOperation[] = {{"sum", Op::Sum},         {"difference", Op::Difference},
                                          {"product", Op::Product}, {"quotient", Op::Quotient},
                                          {"ratio", Op::Ratio},     {"max", Op::Max},
                                          {"min", Op::Min}};
inline constexpr Word<From> kFrom[] = {{"regex", From::Regex}, {"json", From::Json}, {"csv", From::Csv},
                                       {"lines", From::Lines}, {"size", From::Size}, {"same", From::Same}};
inline constexpr Word<Take> kTake[] = {{"last", Take::Last}, {"median", Take::Median}, {"mean", Take::Mean},
                                       {"sum", Take::Sum},   {"min", Take::Min},       {"max", Take::Max}};

}  // namespace words

std::string_view toString(TrialKind kind);
/// A bound as it is written: ">= 1.2x".
std::string relationText(Relation relation, const std::string& end);
/// The design of a kind of trial; null where no such trial is planned.
const KindDesign* designOf(const Plan& plan, TrialKind kind);

/// Serialisation to and from the JSON schema. Reading checks the version and every field; the error names the JSON
/// path.
llvm::json::Value toJson(const Plan& plan);
llvm::Expected<Plan> planFromJson(const llvm::json::Value& value);
/// Whether the plan can be written and read again: what planFromJson says of what toJson makes of it. Asked of every
/// plan before anything is measured for it, so that no store keeps one that is not read any more.
llvm::Error validate(const Plan& plan);

/// Fields of what plans, specifications and locks share; a timeout is absent or above 0.
void describe(JsonRecord& io, Bound& bound);
void describe(JsonRecord& io, Expectation& expectation);
void describe(JsonRecord& io, Command& command);
void describeTimeout(JsonRecord& io, std::optional<double>& seconds);

/// Why `text` cannot be the name of a study, workload, point or control; nothing if it can. Such a name is one file's
/// name, stays inside the folder that it is put into, and can be printed: it is not empty, does not begin with a dot,
/// and has no '/', '#' or control character.
std::optional<std::string> whyNoName(std::string_view text);

/// The first eight bytes of BLAKE3 over a text, as a number.
uint64_t hashOf(std::string_view text);
/// First 16 hex digits of BLAKE3 over `canonical`.
std::string shortHash(std::string_view canonical);
/// Canonical text: keys sorted, no white space, numbers shortest. Equal values give equal text.
std::string canonicalJson(const llvm::json::Value& value);

}  // namespace expc::plan
