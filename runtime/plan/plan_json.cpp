#include <fmt/format.h>

#include "runtime/plan/described.h"
#include "runtime/plan/name.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_words.h"
#include "runtime/plan/validate.h"

namespace expc::plan {
namespace {

/// A plan with more repetitions than this is a slip: it bounds what the engine allocates for blocks.
constexpr unsigned kMaxRepeat = 1000000;
constexpr unsigned kMostShare = 1024;

void requireAboveZero(JsonRecord& io, llvm::StringRef key, const std::optional<double>& number) {
  if (io.reads() && number && *number <= 0) io.fail(key, "is not above 0");
}

/// Numbers by name, all of them above 0; left out where there are none.
void describeNumbers(JsonRecord& io, JsonRecord::Key key, std::map<std::string, double>& numbers) {
  io.optional(key, numbers);
  if (!io.reads()) return;
  for (const auto& [name, number] : numbers)
    if (number <= 0) io.fail(key.str() + "." + name, "is not above 0");
}

void describePlan(JsonRecord& io, Plan& plan) { PlanFields(plan).describe(io); }

}  // namespace

void requireName(JsonRecord& io, llvm::StringRef key, const std::string& name) {
  if (const auto why = whyNoName(name)) io.fail(key, *why);
}

using llvm::json::Array;
using llvm::json::Value;

void PlanFields::describe(JsonRecord& io) {
  const std::string known = "expc.plan/" + std::to_string(kPlanVersion);
  // The version comes first: everything else may look wrong only because it is another one.
  std::string schema = known;
  io.field("schema", schema);
  if (!io.failed() && schema != known)
    io.fail("schema", "this expc reads " + quoted(known) + ", the plan is " + quoted(schema) +
                          "; make it again from its study with `expc plan --format json`");
  if (io.failed()) return;
  io.field("study", plan_.study);
  io.field("doc", plan_.doc);
  io.field("source", plan_.source);
  io.field("root", plan_.root);
  io.field("presets", plan_.presets);
  io.field("overrides", plan_.overrides);
  list(io, "workloads", plan_.workloads);
  io.field("system", plan_.system);
  const auto rates = [this](JsonRecord& inner, Rates& one) { describe(inner, one); };
  if (io.has("rates", !JsonRecord::written(plan_.rates, rates).empty())) io.object("rates", plan_.rates, rates);
  io.field("digest", plan_.digest);
  if (io.reads()) requireName(io, "study", plan_.study);
  if (io.reads() && plan_.workloads.empty()) io.fail("workloads", "a plan needs a workload");
  list(io, "factors", plan_.factors);
  list(io, "points", plan_.points);
  list(io, "removed", plan_.removed);
  io.field("product", plan_.product);
  list(io, "metrics", plan_.metrics);
  io.field("data_paths", plan_.data_paths);
  list(io, "comparisons", plan_.comparisons);
  list(io, "criteria", plan_.criteria);
  list(io, "controls", plan_.controls);
  list(io, "references", plan_.references);
  io.object("design", plan_.design, [this](JsonRecord& inner, Design& design) { describe(inner, design); });
  list(io, "tables", plan_.tables);
  list(io, "plots", plan_.plots);
}

void PlanFields::describe(JsonRecord& io, Rates& rates) {
  io.optional("memory", rates.memory);
  io.optional("link", rates.link);
  io.optional("host_link", rates.host_link);
  describeNumbers(io, "products", rates.products);
  requireAboveZero(io, "memory", rates.memory);
  requireAboveZero(io, "link", rates.link);
  requireAboveZero(io, "host_link", rates.host_link);
}

void PlanFields::describe(JsonRecord& io, Workload& workload) {
  io.field("label", workload.label);
  io.field("name", workload.name);
  io.field("version", workload.version);
  io.optionalObject("command", workload.command, kDescribed);
  if (!io.reads()) return;
  requireName(io, "name", workload.name);
  if (!workload.label.empty()) requireName(io, "label", workload.label);
  for (const Workload& other : plan_.workloads)
    if (other.label == workload.label) io.fail("label", quoted(workload.label) + " is a second workload of that label");
}

void PlanFields::describe(JsonRecord& io, Level& level) {
  io.field("label", level.label);
  io.field("value", level.value);
}

void PlanFields::describe(JsonRecord& io, Factor& factor) {
  io.field("name", factor.name);
  llvm::StringSet<> labels;
  io.list("levels", factor.levels, [&](JsonRecord& inner, Level& level) {
    describe(inner, level);
    if (inner.reads() && !labels.insert(level.label).second)
      inner.fail("label", quoted(level.label) + " is a second level of that name");
  });
  io.optional("baseline", factor.baseline);
  io.field("declared", factor.declared);
  if (!io.reads()) return;
  if (factor.levels.empty()) io.fail("levels", "a factor needs a level");
  if (factor.baseline && *factor.baseline >= factor.levels.size())
    io.fail("baseline", fmt::format("level {} of {}", *factor.baseline, factor.levels.size()));
  requireName(io, "name", factor.name);
  if (!factors_.insert(factor.name).second) io.fail("name", quoted(factor.name) + " is a second factor of that name");
}

void PlanFields::describeLevels(JsonRecord& io, Point& point) {
  if (!io.reads()) {
    Array levels;
    for (const unsigned level : point.levels) levels.push_back(level == kInactive ? Value(nullptr) : Value(level));
    io.out()["levels"] = std::move(levels);
    return;
  }
  io.in().each("levels", [&](const Value& item, const JsonPath& at) {
    const size_t factor = point.levels.size();
    const auto level = item.getAsUINT64();
    if (!level && !item.getAsNull())
      io.failAt(at, "expected the index of a level, or null where the factor is not active");
    else if (factor >= plan_.factors.size())
      io.failAt(at, fmt::format("the plan has {} factors", plan_.factors.size()));
    else if (level && *level >= plan_.factors[factor].levels.size())
      io.failAt(at, fmt::format("level {} of '{}', which has {}", *level, plan_.factors[factor].name,
                                plan_.factors[factor].levels.size()));
    else
      point.levels.push_back(level ? static_cast<unsigned>(*level) : kInactive);
  });
  if (point.levels.size() != plan_.factors.size())
    io.fail("levels", fmt::format("{} levels for {} factors", point.levels.size(), plan_.factors.size()));
}

void PlanFields::describe(JsonRecord& io, Point& point) {
  io.field("id", point.id);
  describeLevels(io, point);
  io.field("parameters", point.parameters);
  io.optional("workload", point.workload);
  describeNumbers(io, "estimates", point.estimates);
  io.optional("expected_infeasible", point.expected_infeasible);
  io.optional("unavailable", point.unavailable);
  if (!io.reads()) return;
  if (point.workload >= plan_.workloads.size())
    io.fail("workload", fmt::format("workload {} of {}", point.workload, plan_.workloads.size()));
  requireName(io, "id", point.id);
  if (!points_.insert(point.id).second) io.fail("id", quoted(point.id) + " is a second point of that id");
}

void PlanFields::describe(JsonRecord& io, RemovedGroup& group) {
  io.field("rule", group.rule);
  io.field("because", group.because);
  io.field("location", group.location);
  io.field("count", group.count);
  io.field("examples", group.examples);
}

void PlanFields::describe(JsonRecord& io, Metric& metric) {
  io.field("name", metric.name);
  io.field("dimension", metric.dimension);
  io.field("unit", metric.unit);
  const bool derived = io.has("derived", metric.derived != nullptr);
  if (io.has("better", metric.better.has_value()) || (io.reads() && !derived)) {
    io.word("better", *metric.better, words::kDirection);
  } else {
    metric.better.reset();
    io.out()["better"] = nullptr;
  }
  io.word("kind", metric.kind, words::kKind);
  io.field("exact", metric.exact);
  io.field("series", metric.series);
  if (derived) {
    describeTerm(io, "derived", metric.derived, Scope{metric.kind, true}, 0);
    io.field("text", metric.text);
  }
  if (!io.reads()) return;
  if (derived && metric.series) io.fail("series", "a derived metric is one value");
  requireName(io, "name", metric.name);
  // Derived ones come after what they read.
  if (!metrics_.try_emplace(metric.name, KnownMetric{metric.kind, metric.series, derived}).second)
    io.fail("name", quoted(metric.name) + " is a second metric of that name");
}

void PlanFields::describeFactorNames(JsonRecord& io, JsonRecord::Key key, std::vector<std::string>& names) {
  io.field(key, names);
  if (!io.reads()) return;
  for (const std::string& name : names)
    if (!factors_.contains(name)) io.fail(key, quoted(name) + " is no factor of the plan");
}

void PlanFields::describe(JsonRecord& io, Until& until) {
  io.field("subject", until.subject);
  io.field("half_width", until.half_width);
  io.field("relative", until.relative);
  if (!io.reads()) return;
  requireSubject(io, until.subject);
  if (until.half_width <= 0) io.fail("half_width", "is not positive");
}

void PlanFields::describe(JsonRecord& io, KindDesign& kind) {
  io.word("kind", kind.kind, words::kKind);
  io.field("repeat", kind.repeat, 1, kMaxRepeat);
  const bool adapts = !kind.until.empty();
  if (io.reads()) kind.repeat_most = kind.repeat;
  if (io.has("repeat_most", adapts)) io.field("repeat_most", kind.repeat_most, kind.repeat, kMaxRepeat);
  if (io.has("until", adapts)) list(io, "until", kind.until);
  io.optional("looks", kind.looks);
  describeTimeout(io, kind.timeout_seconds);
  io.field("settings", kind.settings);
  if (!io.reads()) return;
  if (kind.repeat_most > kind.repeat && kind.until.empty()) io.fail("repeat_most", "says nothing without 'until'");
  if (!kind.looks.empty() && !kind.until.empty()) io.fail("looks", "cannot be planned beside 'until'");
  unsigned last = 0;
  for (const unsigned look : kind.looks) {
    if (look <= last || look >= kind.repeat) io.fail("looks", "must rise, and stay below 'repeat'");
    last = look;
  }
  for (const KindDesign& other : plan_.design.kinds)
    if (other.kind == kind.kind) io.fail("kind", "a second design for this kind of trial");
}

void PlanFields::describe(JsonRecord& io, Control& control) {
  io.field("name", control.name);
  io.field("point", control.point);
  if (!io.reads()) return;
  requireName(io, "name", control.name);
  for (const Control& other : plan_.controls)
    if (other.name == control.name) io.fail("name", quoted(control.name) + " is a second control of that name");
  if (!points_.contains(control.point)) io.fail("point", quoted(control.point) + " is no point of the plan");
}

void PlanFields::describe(JsonRecord& io, Reference::Value& value) {
  io.field("point", value.point);
  io.field("metric", value.metric);
  io.field("value", value.value);
  if (!io.reads()) return;
  if (!points_.contains(value.point)) io.fail("point", quoted(value.point) + " is no point of the plan");
  if (!metrics_.contains(value.metric)) io.fail("metric", quoted(value.metric) + " is no metric of the plan");
}

void PlanFields::describe(JsonRecord& io, Reference& reference) {
  io.field("name", reference.name);
  io.field("source", reference.source);
  list(io, "values", reference.values);
}

void PlanFields::describe(JsonRecord& io, Design& design) {
  list(io, "kinds", design.kinds);
  io.field("seed", design.seed);
  io.optional("budget_seconds", design.budget_seconds);
  if (io.has("share", design.share > 1)) io.field("share", design.share, 1, kMostShare);
  if (io.has("validity", design.validity != Validity{}))
    io.object("validity", design.validity, [this](JsonRecord& inner, Validity& one) { describe(inner, one); });
  if (io.reads() && design.budget_seconds && *design.budget_seconds <= 0) io.fail("budget_seconds", "is not positive");
}

void PlanFields::describe(JsonRecord& io, Validity& validity) {
  io.field("attempts", validity.attempts, 1, kMostDisturbed);
  io.object("limits", validity.limits, [](JsonRecord& inner, auto& limits) {
    for (const LimitRule& rule : kLimits) {
      if (!inner.has(rule.name, limits.contains(rule.name))) continue;
      double& limit = limits[std::string(rule.name)];
      inner.field(rule.name, limit);
      if (limit < 0) inner.fail(rule.name, "is negative");
    }
  });
}

void PlanFields::requireSubject(JsonRecord& io, const std::string& subject) {
  if (!metrics_.contains(subject) && !comparisons_.contains(subject))
    io.fail("subject", quoted(subject) + " is no metric or comparison of the plan");
}

void PlanFields::describe(JsonRecord& io, Table& table) {
  io.field("subject", table.subject);
  describeFactorNames(io, "by", table.by);
  if (io.has("shows", table.shows != Table::Shows::Values)) io.word("shows", table.shows, words::kShows);
  if (table.shows == Table::Shows::Front) io.field("other", table.other);
  if (!io.reads()) return;
  requireSubject(io, table.subject);
  for (const auto& [key, metric] : {std::pair("subject", table.subject), {"other", table.other}})
    if (table.shows != Table::Shows::Values && !metric.empty() && !metrics_.contains(metric))
      io.fail(key, quoted(metric) + " is no metric of the plan");
}

void PlanFields::describe(JsonRecord& io, Plot& plot) {
  io.field("subject", plot.subject);
  io.field("over", plot.over);
  describeFactorNames(io, "by", plot.by);
  if (!io.reads()) return;
  requireSubject(io, plot.subject);
  const bool factor = factors_.contains(plot.over), metrics = metrics_.contains(plot.over);
  const Metric* subject = plan_.findMetric(plot.subject);
  if (!factor && !metrics && !(subject && subject->series))
    io.fail("over", quoted(plot.over) + " is no factor or metric of the plan");
  if (!factor && !subject) io.fail("subject", quoted(plot.subject) + " is no metric, and is plotted over no factor");
}

Value toJson(const Plan& plan) { return JsonRecord::written(plan, describePlan); }

llvm::Expected<Plan> planFromJson(const Value& value) { return readRecord<Plan>(value, "the plan", describePlan); }

llvm::Error validate(const Plan& plan) { return planFromJson(toJson(plan)).takeError(); }

}  // namespace expc::plan
