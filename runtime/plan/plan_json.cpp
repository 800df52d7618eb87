// The JSON form of a plan. Each struct is described once, for writing and reading, and each description holds the
// checks that readers of the struct rely on: indices in range, names that exist, kinds that agree. So the order of
// fields matters when reading: what a check needs stands in the document before it (factors before points, points
// and metrics before terms).

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <set>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/plan.h"

namespace expc::plan {
namespace {

using base::JsonPath, base::JsonRecord, base::kDescribed, base::readRecord;
using json::Array;
using json::Value;

/// A plan with more repetitions is a mistake; the limit bounds what the engine allocates for blocks.
constexpr unsigned kMaxRepeat = 1000000;

std::string inQuotes(const std::string& text) { return "'" + text + "'"; }

/// Notes an error unless the field can be a name.
void requireName(JsonRecord& io, StringRef key, const std::string& name) {
  if (const auto why = whyNoName(name)) io.fail(key, *why);
}

/// Numbers by name, all above 0; the field is left out if there are none.
void describeNumbers(JsonRecord& io, JsonRecord::Key key, std::map<std::string, double>& numbers) {
  io.optional(key, numbers);
  for (const auto& [name, number] : numbers)
    if (number <= 0) io.fail(key.str() + "." + name, "is not above 0");
}

/// The alternative of a term that this key stands for, or null if the term is of another kind. When reading, a term
/// whose key is there becomes that kind.
template <typename Node>
Node* nodeOf(JsonRecord& io, JsonRecord::Key key, Term& term) {
  if (!io.reads()) return std::get_if<Node>(&term.node);
  return io.has(key, true) ? &term.node.emplace<Node>() : nullptr;
}

/// The fields of a plan, and what must agree between them.
struct PlanFields {
  Plan& plan;
  // Names that were read so far, with their positions: a plan may have a million points, too many to search in a
  // list.
  using Known = llvm::StringMap<size_t>;
  /// Version 2 wrote the labels of a cell's levels in place of their indices.
  bool labelled = false;
  std::vector<const Factor*> all_factors = {};
  Known known_points = {}, factors = {}, metrics = {}, comparisons = {}, criteria = {}, controls = {}, labels = {};
  Known processes = {};  // with their workloads

  void describe(JsonRecord& io) {
    const std::string known = "expc.plan/" + std::to_string(kPlanVersion), before = "expc.plan/2";
    // The version comes first: everything else may look wrong only because it is another one.
    std::string schema = known;
    io.field("schema", schema);
    labelled = schema == before;
    if (!io.failed() && schema != known && !labelled)
      io.fail("schema", "this expc reads " + inQuotes(known) + ", the plan is " + inQuotes(schema) +
                            "; make it again from its study with `expc plan --format json`");
    if (io.failed()) return;
    io.required(EXPC_NAMED(plan, study, doc, source, root, presets, overrides, system, digest, product, data_paths));
    list(io, "workloads", plan.workloads);
    const auto rates = [this](JsonRecord& inner, Rates& one) { describe(inner, one); };
    // Left out if the system states no rate.
    if (io.has("rates", !JsonRecord::written(plan.rates, rates).empty())) io.object("rates", plan.rates, rates);
    requireName(io, "study", plan.study);
    if (plan.workloads.empty()) io.fail("workloads", "a plan needs a workload");
    list(io, "factors", plan.factors);
    for (const Factor& factor : plan.factors) all_factors.push_back(&factor);
    list(io, EXPC_NAMED(plan, points, removed, metrics, comparisons, criteria, controls, references));
    io.object("design", plan.design, [this](JsonRecord& inner, Design& design) { describe(inner, design); });
    list(io, EXPC_NAMED(plan, tables, plots));
  }

  /// Notes an error if another element of this sort has the name.
  void declare(JsonRecord& io, StringRef key, StringRef sort, Known& known, const std::string& name) {
    if (!known.try_emplace(name, known.size()).second)
      io.fail(key, inQuotes(name) + " is a second " + sort + " of that " + key);
  }

  /// Notes an error unless an element of this sort has the name.
  void require(JsonRecord& io, StringRef key, StringRef sort, const Known& known, const std::string& name) {
    if (!known.contains(name)) io.fail(key, ("the plan has no " + sort + " ").str() + inQuotes(name));
  }

  /// A metric that was read before, or null.
  const Metric* findMetric(const std::string& name) const {
    const auto found = metrics.find(name);
    return found == metrics.end() ? nullptr : &plan.metrics[found->second];
  }

  template <typename T, typename... Rest>
  void list(JsonRecord& io, JsonRecord::Key key, std::vector<T>& items, Rest&... rest) {
    io.list(key, items, [this](JsonRecord& inner, T& item) { describe(inner, item); });
    if constexpr (sizeof...(rest) > 0) list(io, rest...);
  }

  /// The names that a term may use: in a cell, metrics of its kind at points; in a derived metric, metrics and
  /// parameters of one point.
  struct Scope {
    TrialKind kind = TrialKind::Timed;
    bool inside_point = false;  // in a derived metric: no points are named
  };

  void describe(JsonRecord& io, Rates& rates) {
    describeNumbers(io, "products", rates.products);
    for (const auto& [key, rate] :
         {std::pair("memory", &rates.memory), {"link", &rates.link}, {"host_link", &rates.host_link}}) {
      io.optional(key, *rate);
      if (*rate && **rate <= 0) io.fail(key, "is not above 0");
    }
  }

  // A workload without a command is built in: the worker knows its name and version.
  void describe(JsonRecord& io, Workload& workload) {
    io.required(EXPC_NAMED(workload, label, name, version));
    io.optional("command", workload.command);
    // Names of workloads become folders and file names.
    requireName(io, "name", workload.name);
    if (!workload.label.empty()) requireName(io, "label", workload.label);
    declare(io, "label", "workload", labels, workload.label);
  }

  void describe(JsonRecord& io, Factor& factor) {
    io.field("name", factor.name);
    llvm::StringSet<> known;
    io.list("levels", factor.levels, [&](JsonRecord& inner, Level& level) {
      inner.required(EXPC_NAMED(level, label, value));
      if (!known.insert(level.label).second)
        inner.fail("label", inQuotes(level.label) + " is a second level of that name");
    });
    io.optional("baseline", factor.baseline);
    io.field("declared", factor.declared);
    io.optional("inside", factor.inside);
    if (factor.levels.empty()) io.fail("levels", "a factor needs a level");
    if (factor.baseline && *factor.baseline >= factor.levels.size())
      io.fail("baseline", fmt::format("level {} of {}", *factor.baseline, factor.levels.size()));
    requireName(io, "name", factor.name);
    declare(io, "name", "factor", factors, factor.name);
  }

  /// Indices of levels, one for each factor of `of`, null where it is not active; unknown ones were noted before.
  void describeLevels(JsonRecord& io, std::vector<unsigned>& levels, const std::vector<const Factor*>& of) {
    if (!io.reads()) {
      Array array;
      for (const unsigned level : levels) array.push_back(level == kInactive ? Value(nullptr) : Value(level));
      io.out()["levels"] = std::move(array);
      return;
    }
    // Each level is checked against its own factor, so that the error names the very place.
    io.each("levels", [&](const Value& item, const JsonPath& at) {
      const auto level = item.getAsUINT64();
      const Factor* factor = levels.size() < of.size() ? of[levels.size()] : nullptr;
      if (!level && !item.getAsNull())
        io.failAt(at, "expected the index of a level, or null where the factor is not active");
      else if (levels.size() >= of.size())
        io.failAt(at, fmt::format("there are {} factors", of.size()));
      else if (level && factor && *level >= factor->levels.size())
        io.failAt(at, fmt::format("level {} of '{}', which has {}", *level, factor->name, factor->levels.size()));
      else
        levels.push_back(level ? unsigned(*level) : kInactive);
    });
    if (levels.size() != of.size())
      io.fail("levels", fmt::format("{} levels for {} factors", levels.size(), of.size()));
  }

  /// Reads the levels of a cell of version 2, which names them by their labels.
  void readLabels(JsonRecord& io, std::vector<unsigned>& levels, const std::vector<const Factor*>& of) {
    std::vector<std::string> labels;
    io.field("labels", labels);
    if (labels.size() != of.size())
      io.fail("labels", fmt::format("{} labels for {} factors", labels.size(), of.size()));
    for (size_t i = 0; i < std::min(labels.size(), of.size()); ++i) {
      if (!of[i]) continue;
      const auto found = std::ranges::find(of[i]->levels, labels[i], &Level::label);
      levels.push_back(found == of[i]->levels.end() ? kInactive : unsigned(found - of[i]->levels.begin()));
      if (levels.back() == kInactive && labels[i] != "–")
        io.fail("labels", fmt::format("'{}' is not a level of '{}'", labels[i], of[i]->name));
    }
  }

  std::vector<const Factor*> factorsCalled(const std::vector<std::string>& names) const {
    std::vector<const Factor*> found;
    for (const std::string& name : names) found.push_back(base::named(plan.factors, name));
    return found;
  }

  // Estimates and reasons that come from the system are optional, since a plan may be made for none.
  void describe(JsonRecord& io, Point& point) {
    io.required(EXPC_NAMED(point, id, parameters));
    describeLevels(io, point.levels, all_factors);
    describeNumbers(io, "estimates", point.estimates);
    io.optional(EXPC_NAMED(point, workload, expected_infeasible, unavailable, process));
    if (point.workload >= plan.workloads.size())
      io.fail("workload", fmt::format("workload {} of {}", point.workload, plan.workloads.size()));
    requireName(io, "id", point.id);
    declare(io, "id", "point", known_points, point.id);
    if (!point.process.empty() && !io.failed()) describeProcess(io, point);
  }

  /// A point of a process: its command goes through levels, of which the point has one of each.
  void describeProcess(JsonRecord& io, const Point& point) {
    requireName(io, "process", point.process);
    const std::optional<Command>& command = plan.workloads[point.workload].command;
    if (!command || command->inside.empty()) return io.fail("process", "its workload goes through no levels by itself");
    for (const CommandMetric& key : command->inside)
      if (!point.parameters.get(key.name)) io.fail("parameters", inQuotes(key.name) + " is missing");
    const auto [known, fresh] = processes.try_emplace(point.process, point.workload);
    if (!fresh && known->second != point.workload) io.fail("process", "its points run different workloads");
  }

  void describe(JsonRecord& io, RemovedGroup& group) {
    io.required(EXPC_NAMED(group, rule, because, location, count, examples));
  }

  void describe(JsonRecord& io, Metric& metric) {
    io.required(EXPC_NAMED(metric, name, dimension, unit));
    const bool derived = io.has("derived", metric.derived != nullptr);
    // Only a derived metric may lack a direction; it is null then.
    if (io.has("better", metric.better.has_value()) || (io.reads() && !derived)) {
      io.word("better", *metric.better, words::kDirection);
    } else {
      metric.better.reset();
      io.out()["better"] = nullptr;
    }
    io.required(EXPC_NAMED(metric, kind, exact, series));
    io.optional(EXPC_NAMED(metric, distribution, of_process));
    if (derived) {
      describeTerm(io, "derived", metric.derived, Scope{metric.kind, true}, 0);
      io.field("text", metric.text);
    }
    if (derived && metric.series) io.fail("series", "a derived metric is one value");
    requireName(io, "name", metric.name);
    declare(io, "name", "metric", metrics, metric.name);
  }

  /// Names of factors that must be the plan's.
  void describeFactorNames(JsonRecord& io, JsonRecord::Key key, std::vector<std::string>& names) {
    io.field(key, names);
    for (const std::string& name : names) require(io, key, "factor", factors, name);
  }

  // The subject of an `until` is a comparison or metric, as those of tables and plots are.
  void describe(JsonRecord& io, Until& until) {
    io.required(EXPC_NAMED(until, subject, half_width, relative));
    requireSubject(io, until.subject);
    if (until.half_width <= 0) io.fail("half_width", "is not positive");
  }

  void describe(JsonRecord& io, KindDesign& kind) {
    io.required(EXPC_NAMED(kind, kind, settings));
    io.field("repeat", kind.repeat, 1, kMaxRepeat);
    const bool adapts = !kind.until.empty();
    // Without `repeat_most` the design does not adapt.
    if (io.reads()) kind.repeat_most = kind.repeat;
    if (io.has("repeat_most", adapts)) io.field("repeat_most", kind.repeat_most, kind.repeat, kMaxRepeat);
    if (io.has("until", adapts)) list(io, "until", kind.until);
    io.optional("looks", kind.looks);
    describeTimeout(io, kind.timeout_seconds);
    io.optional("takes_seconds", kind.takes_seconds);
    if (kind.repeat_most > kind.repeat && kind.until.empty()) io.fail("repeat_most", "says nothing without 'until'");
    if (!kind.looks.empty() && !kind.until.empty()) io.fail("looks", "cannot be planned beside 'until'");
    unsigned last = 0;
    for (const unsigned look : kind.looks) {
      if (look <= last || look >= kind.repeat) io.fail("looks", "must rise, and stay below 'repeat'");
      last = look;
    }
    // The design under construction is not in the plan yet, so a hit is another one of this kind.
    if (designOf(plan, kind.kind)) io.fail("kind", "a second design for this kind of trial");
  }

  // A control is another name for a point: it has no parameters of its own.
  void describe(JsonRecord& io, Control& control) {
    io.required(EXPC_NAMED(control, name, point));
    requireName(io, "name", control.name);
    declare(io, "name", "control", controls, control.name);
    require(io, "point", "point", known_points, control.point);
  }

  void describe(JsonRecord& io, Reference::Value& value) {
    io.required(EXPC_NAMED(value, point, metric, value));
    require(io, "point", "point", known_points, value.point);
    require(io, "metric", "metric", metrics, value.metric);
  }

  void describe(JsonRecord& io, Reference& reference) {
    io.required(EXPC_NAMED(reference, name, source));
    list(io, "values", reference.values);
  }

  void describe(JsonRecord& io, Design& design) {
    list(io, "kinds", design.kinds);
    io.field("seed", design.seed);
    io.optional("budget_seconds", design.budget_seconds);
    if (io.has("share", design.share > 1)) io.field("share", design.share, 1, kMostShare);
    io.optional("restart", design.restart);
    if (io.has("validity", design.validity != Validity{}))
      io.object("validity", design.validity, [this](JsonRecord& inner, Validity& one) { describe(inner, one); });
    if (design.budget_seconds && *design.budget_seconds <= 0) io.fail("budget_seconds", "is not positive");
  }

  void describe(JsonRecord& io, Validity& validity) {
    io.field("attempts", validity.attempts, 1, kMostDisturbed);
    io.object("limits", validity.limits, [](JsonRecord& inner, auto& limits) {
      // The limits are an object with a member for each rule that is set, in the order of the rules.
      for (const LimitRule& rule : kLimits) {
        if (!inner.has(rule.name, limits.contains(rule.name))) continue;
        double& limit = limits[std::string(rule.name)];
        inner.field(rule.name, limit);
        if (limit < 0) inner.fail(rule.name, "is negative");
      }
    });
  }

  /// Notes an error unless the subject is a comparison or a metric.
  void requireSubject(JsonRecord& io, const std::string& subject) {
    if (!comparisons.contains(subject)) require(io, "subject", "metric or comparison", metrics, subject);
  }

  void describe(JsonRecord& io, Table& table) {
    io.field("subject", table.subject);
    describeFactorNames(io, "by", table.by);
    io.optional("shows", table.shows);
    if (table.shows == Table::Shows::Front) io.field("other", table.other);
    requireSubject(io, table.subject);
    // Tables other than of values describe metrics, never comparisons.
    for (const auto& [key, metric] : {std::pair("subject", table.subject), {"other", table.other}})
      if (table.shows != Table::Shows::Values && !metric.empty()) require(io, key, "metric", metrics, metric);
  }

  void describe(JsonRecord& io, Plot& plot) {
    io.required(EXPC_NAMED(plot, subject, over));
    describeFactorNames(io, "by", plot.by);
    requireSubject(io, plot.subject);
    // Plots over a factor show any subject, over metrics and series only metrics.
    const bool factor = factors.contains(plot.over);
    const Metric* subject = findMetric(plot.subject);
    if (!factor && !(subject && subject->series)) require(io, "over", "factor or metric", metrics, plot.over);
    if (!factor && !subject)
      io.fail("subject", inQuotes(plot.subject) + " is not a metric, and is not plotted over a factor");
  }

  void describe(JsonRecord& io, Cell& cell, const std::vector<const Factor*>& of) {
    labelled ? readLabels(io, cell.levels, of) : describeLevels(io, cell.levels, of);
    io.word("estimator", cell.estimator, words::kEstimator);
    io.required("kind", cell.kind);
    describeTerm(io, "term", cell.term, Scope{cell.kind, false}, 0);
    // JSON has only the ids: cells read points, never controls.
    std::vector<std::string> points;
    for (const Place& place : cell.points) points.push_back(place.point);
    io.field("points", points);
    if (io.has("treated", cell.treated != 1)) io.field("treated", cell.treated, 1, unsigned(points.size()));
    io.optional(EXPC_NAMED(cell, ideal, bound, assertion));
    if (!io.reads()) return;
    if (cell.ideal && *cell.ideal <= 0) io.fail("ideal", "is not above 0");
    for (const std::string& point : points) require(io, "points", "point", known_points, point);
    cell.points.assign(points.begin(), points.end());
    if (io.failed()) return;
    // Analysis pairs the trials of these points, and takes the first for a claim about one point. So they must be
    // exactly the points that the term reads.
    std::set<std::string> read;
    for (const MetricTerm& metric : metricTerms(*cell.term)) read.insert(metric.place.point);
    const bool alone = read.empty() && points.size() == 1;
    if (!alone && (points.size() != read.size() || read != std::set(points.begin(), points.end())))
      io.fail("points", "must name once each point that the term reads, or the one that a constant is about");
  }

  void describe(JsonRecord& io, OperationTerm& operation, Scope scope, unsigned depth) {
    using Op = OperationTerm::Op;
    const JsonRecord::Key key = wordOf(words::kOperation, operation.op);
    io.list(key, operation.operands,
            [&](JsonRecord& inner, TermPtr& operand) { describe(inner, operand, scope, depth + 1); });
    const Op op = operation.op;
    // The order of operands matters in the other operations, so they have two.
    const bool more = op == Op::Sum || op == Op::Product || op == Op::Max || op == Op::Min;
    const size_t count = operation.operands.size();
    if (count < 2 || (count > 2 && !more))
      io.fail(key, fmt::format("expected two terms{}, found {}", more ? " or more" : "", count));
  }

  void describe(JsonRecord& io, MetricTerm& metric, Scope scope, bool series) {
    io.field("metric", metric.metric);
    // Inside a derived metric the point is the one that it is computed at.
    if (!scope.inside_point) io.field("point", metric.place.point);
    // A derived metric stands after the metrics that it reads, so they are known here and circles are impossible.
    const Metric* known = findMetric(metric.metric);
    require(io, "metric", "metric", metrics, metric.metric);
    if (known && known->kind != scope.kind)
      io.fail("metric",
              fmt::format("'{}' is measured by {} trials, {} reads {} ones", metric.metric, toString(known->kind),
                          scope.inside_point ? "this metric" : "the cell", toString(scope.kind)));
    else if (known && series && !known->series)
      io.fail("metric", inQuotes(metric.metric) + " is not a series");
    if (!scope.inside_point) require(io, "point", "point", known_points, metric.place.point);
  }

  // A gap is an array of two series in JSON, since both sides have the same form.
  void describe(JsonRecord& io, GapTerm& gap, Scope scope) {
    std::vector<MetricTerm> series;
    if (!io.reads()) series = {gap.treated, gap.baseline};
    io.list("gap", series, [&](JsonRecord& inner, MetricTerm& one) { describe(inner, one, scope, true); });
    if (!io.reads()) return;
    if (series.size() != 2) io.fail("gap", fmt::format("expected two series, found {}", series.size()));
    series.resize(2);
    gap = {std::move(series[0]), std::move(series[1])};
  }

  /// Describes a term that is a field of something else.
  void describeTerm(JsonRecord& io, JsonRecord::Key key, TermPtr& term, Scope scope, unsigned depth) {
    io.object(key, term, [&](JsonRecord& inner, TermPtr& one) { describe(inner, one, scope, depth); });
  }

  void describe(JsonRecord& io, TermPtr& shared, Scope scope, unsigned depth) {
    if (depth > kMostDepth && io.reads()) return io.fail(fmt::format("terms nested deeper than {}", kMostDepth));
    // A term being read belongs to nobody else yet, so it may be changed; writing changes none.
    const auto made = io.reads() ? std::make_shared<Term>() : nullptr;
    if (made) shared = made;
    Term& term = const_cast<Term&>(*shared);
    // A derived metric is one value of one trial: ratios, gaps and points, which compare, are for cells.
    const bool cell = !scope.inside_point;
    // The key that is there decides the kind of term.
    if (auto* constant = nodeOf<ConstantTerm>(io, "constant", term)) return io.field("constant", constant->value);
    if (auto* parameter = cell ? nullptr : nodeOf<ParameterTerm>(io, "parameter", term))
      return io.field("parameter", parameter->parameter);
    if (auto* metric = nodeOf<MetricTerm>(io, "metric", term)) return describe(io, *metric, scope, false);
    for (const auto& [word, op] : words::kOperation) {
      if (!cell && op == OperationTerm::Op::Ratio) continue;
      auto* operation = nodeOf<OperationTerm>(io, word, term);
      if (operation && io.reads()) operation->op = op;
      if (operation && operation->op == op) return describe(io, *operation, scope, depth);
    }
    if (auto* first = nodeOf<FirstTerm>(io, "first", term)) {
      io.object("first", first->series, [&](JsonRecord& inner, MetricTerm& one) { describe(inner, one, scope, true); });
      io.object("bound", first->bound, kDescribed);
    } else if (auto* reduced = cell ? nullptr : nodeOf<ReduceTerm>(io, "series", term)) {
      io.object("series", reduced->series,
                [&](JsonRecord& inner, MetricTerm& one) { describe(inner, one, scope, true); });
      plan::describe(io, reduced->reduction);
    } else if (auto* absent = cell && depth == 0 ? nodeOf<AbsentTerm>(io, "absent", term) : nullptr) {
      describeTerm(io, "absent", absent->term, scope, depth + 1);
    } else if (auto* gap = cell ? nodeOf<GapTerm>(io, "gap", term) : nullptr) {
      describe(io, *gap, scope);
    } else if (auto* scale = nodeOf<ScaleTerm>(io, "scale", term)) {
      io.field("scale", scale->factor);
      describeTerm(io, "of", scale->term, scope, depth + 1);
    } else if (auto* aggregate = cell ? nodeOf<AggregateTerm>(io, "aggregate", term) : nullptr) {
      const auto terms = [&](JsonRecord& inner, TermPtr& one) { describe(inner, one, scope, depth + 1); };
      io.word("aggregate", aggregate->function, words::kAggregate);
      io.list("parts", aggregate->parts, terms);
      if (io.has("weights", !aggregate->weights.empty())) io.list("weights", aggregate->weights, terms);
      if (aggregate->parts.empty()) io.fail("parts", "an aggregate needs a part");
      if (!aggregate->weights.empty() && aggregate->weights.size() != aggregate->parts.size())
        io.fail("weights", fmt::format("{} weights for {} parts", aggregate->weights.size(), aggregate->parts.size()));
    } else {
      io.fail(
          fmt::format("expected a term{}: constant, {}metric, first, {}scale, {}sum, difference, product, quotient, "
                      "{}max or min",
                      cell ? "" : " of a derived metric", cell ? "" : "parameter, ", cell ? "gap, " : "series, ",
                      cell ? "aggregate, " : "", cell ? "ratio, " : ""));
    }
  }

  void describe(JsonRecord& io, Comparison& comparison) {
    io.required(EXPC_NAMED(comparison, name, text, over, unit));
    describeFactorNames(io, "factors", comparison.factors);
    if (!comparison.over.empty()) require(io, "over", "factor", factors, comparison.over);
    const std::vector<const Factor*> of = factorsCalled(comparison.factors);
    io.list("cells", comparison.cells, [&](JsonRecord& inner, Cell& cell) { describe(inner, cell, of); });
    io.optional(EXPC_NAMED(comparison, without_partner, without_partner_why));
    requireName(io, "name", comparison.name);
    // Comparisons and metrics share one space of names, since `until`, tables and plots name either.
    if (metrics.contains(comparison.name) || !comparisons.try_emplace(comparison.name, 0).second)
      io.fail("name", inQuotes(comparison.name) + " is taken by another comparison or metric");
  }

  /// Describes the tree of quantifiers. `reaches_cell` becomes true if it has a leaf.
  void describe(JsonRecord& io, Claim& claim, size_t cells, unsigned depth, bool& reaches_cell) {
    if (depth > kMostDepth && io.reads()) return io.fail(fmt::format("quantifiers nested deeper than {}", kMostDepth));
    io.word("is", claim.kind, words::kClaim);
    if (claim.kind != Claim::Kind::Cell) {
      io.list("children", claim.children,
              [&](JsonRecord& inner, Claim& child) { describe(inner, child, cells, depth + 1, reaches_cell); });
      if (claim.kind != Claim::Kind::AtLeast) return;
      io.field("least", claim.least);
      if (claim.least == 0 || claim.least > claim.children.size())
        io.fail("least", fmt::format("{} of {} children", claim.least, claim.children.size()));
      return;
    }
    io.field("cell", claim.cell);
    if (claim.cell >= cells) io.fail("cell", fmt::format("cell {} of {}", claim.cell, cells));
    reaches_cell = true;
  }

  // The fields that only people read (text, doc, where, domain) have no checks.
  void describe(JsonRecord& io, Criterion& criterion) {
    io.required(EXPC_NAMED(criterion, name, text, doc));
    io.optional(EXPC_NAMED(criterion, where, expected));
    describeFactorNames(io, "factors", criterion.factors);
    const std::vector<const Factor*> of = factorsCalled(criterion.factors);
    io.list("cells", criterion.cells, [&](JsonRecord& inner, Cell& cell) { describe(inner, cell, of); });
    if (io.has("assertions", !criterion.assertions.empty()))
      io.list("assertions", criterion.assertions, [](JsonRecord& inner, Assertion& assertion) {
        inner.field("text", assertion.text);
        inner.optional("infeasible", assertion.infeasible);
        inner.required(EXPC_NAMED(assertion, bound, unit));
      });
    if (criterion.assertions.empty()) io.object("bound", criterion.bound, kDescribed);
    for (const Cell& cell : criterion.cells)
      if (cell.assertion > 0 && cell.assertion >= criterion.assertions.size())
        io.fail("cells", fmt::format("assertion {} of {}", cell.assertion, criterion.assertions.size()));
    io.optional(EXPC_NAMED(criterion, infeasible, confidence));
    io.required(EXPC_NAMED(criterion, unit, domain, not_asked));
    bool reaches_cell = false;
    io.object("claim", criterion.claim, [&](JsonRecord& inner, Claim& claim) {
      describe(inner, claim, criterion.cells.size(), 0, reaches_cell);
    });
    if (criterion.confidence && (*criterion.confidence <= 0 || *criterion.confidence >= 1))
      io.fail("confidence", "is not between 0 and 1");
    // A criterion without a cell would pass whatever is measured.
    if (!reaches_cell && !criterion.not_asked) io.fail("claim", "claims nothing: no cell is reached");
    requireName(io, "name", criterion.name);
    declare(io, "name", "criterion", criteria, criterion.name);
  }
};

void describePlan(JsonRecord& io, Plan& plan) { PlanFields{plan}.describe(io); }

}  // namespace

Value toJson(const Plan& plan) { return JsonRecord::written(plan, describePlan); }

Expected<Plan> planFromJson(const Value& value) {
  auto plan = readRecord<Plan>(value, "the plan", describePlan);
  // Runs look points up by id, again and again.
  if (plan) plan->indexPoints();
  return plan;
}

Error validate(const Plan& plan) { return planFromJson(toJson(plan)).takeError(); }

}  // namespace expc::plan
