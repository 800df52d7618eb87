#include <fmt/format.h>

#include "runtime/plan/command_json.h"
#include "runtime/plan/name.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/plan/plan_words.h"
#include "runtime/plan/validate.h"

namespace expc::plan {
namespace {

/// A plan with more repetitions than this is a slip: it bounds what the engine allocates for blocks.
constexpr unsigned kMaxRepeat = 1000000;
constexpr unsigned kMostShare = 1024;

void requireName(JsonFields& in, llvm::StringRef key, const std::string& name) {
  if (const auto why = whyNoName(name)) in.fail(key, *why);
}

}  // namespace

using llvm::json::Value;

llvm::Expected<Plan> PlanReader::read(const Value& value) {
  const JsonPath root;
  JsonFields in(errors_, value, root);
  // The version comes first: everything else may look wrong only because it is another one.
  const std::string schema = in.string("schema");
  const std::string known = "expc.plan/" + std::to_string(kPlanVersion);
  if (!errors_.any() && schema != known)
    in.fail("schema", "this expc reads " + quoted(known) + ", the plan is " + quoted(schema) +
                          "; make it again from its study with `expc plan --format json`");
  if (errors_.any()) return errors_.take("the plan");

  readHead(in, root);
  in.each("factors", [&](const Value& item, const JsonPath& at) { readFactor(item, at); });
  in.each("points", [&](const Value& item, const JsonPath& at) { readPoint(item, at); });
  in.each("removed", [&](const Value& item, const JsonPath& at) { readRemoved(item, at); });
  plan_.product = in.whole("product");
  in.each("metrics", [&](const Value& item, const JsonPath& at) { readMetric(item, at); });
  plan_.data_paths = in.strings("data_paths");
  in.each("comparisons", [&](const Value& item, const JsonPath& at) { readComparison(item, at); });
  in.each("criteria", [&](const Value& item, const JsonPath& at) { readCriterion(item, at); });
  in.each("controls", [&](const Value& item, const JsonPath& at) { readControl(item, at); });
  in.each("references", [&](const Value& item, const JsonPath& at) { readReference(item, at); });
  if (const Value* design = in.value("design"))
    readDesign(*design, JsonPath{&root, "design", std::nullopt});
  else
    in.fail("design", "missing, expected an object");
  in.each("tables", [&](const Value& item, const JsonPath& at) { readTable(item, at); });
  in.each("plots", [&](const Value& item, const JsonPath& at) { readPlot(item, at); });
  in.refuseOthers();
  if (errors_.any()) return errors_.take("the plan");
  return std::move(plan_);
}

void PlanReader::readHead(JsonFields& in, const JsonPath& root) {
  plan_.study = in.string("study");
  plan_.doc = in.string("doc");
  plan_.source = in.string("source");
  plan_.root = in.string("root");
  plan_.presets = in.strings("presets");
  plan_.overrides = in.strings("overrides");
  in.each("workloads", [&](const Value& item, const JsonPath& at) { readWorkload(item, at); });
  plan_.system = in.string("system");
  if (const Value* rates = in.value("rates")) readRates(*rates, JsonPath{&root, "rates", std::nullopt});
  plan_.digest = in.string("digest");
  requireName(in, "study", plan_.study);
  if (plan_.workloads.empty()) in.fail("workloads", "a plan needs a workload");
}

/// Numbers by name, all of them above 0.
void PlanReader::readNumbers(const Value& value, const JsonPath& at, std::map<std::string, double>& numbers) {
  JsonFields in(errors_, value, at);
  const llvm::json::Object* object = value.getAsObject();
  if (!object) return;
  for (const auto& member : *object) {
    const double number = numbers[member.first.str()] = in.number(member.first);
    if (number <= 0) in.fail(member.first, "is not above 0");
  }
}

void PlanReader::readRates(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  const auto rate = [&](llvm::StringRef key) -> std::optional<double> {
    if (!in.has(key)) return std::nullopt;
    const double number = in.number(key);
    if (number <= 0) in.fail(key, "is not above 0");
    return number;
  };
  plan_.rates.memory = rate("memory");
  plan_.rates.link = rate("link");
  plan_.rates.host_link = rate("host_link");
  if (in.has("products"))
    readNumbers(*in.value("products"), JsonPath{&at, "products", std::nullopt}, plan_.rates.products);
  in.refuseOthers();
}

void PlanReader::readWorkload(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Workload workload;
  workload.label = in.string("label");
  workload.name = in.string("name");
  workload.version = static_cast<int>(in.small("version", 0, INT32_MAX));
  if (in.has("command"))
    workload.command = readCommand(errors_, *in.value("command"), JsonPath{&at, "command", std::nullopt});
  requireName(in, "name", workload.name);
  if (!workload.label.empty()) requireName(in, "label", workload.label);
  for (const Workload& other : plan_.workloads)
    if (other.label == workload.label) in.fail("label", quoted(workload.label) + " is a second workload of that label");
  in.refuseOthers();
  plan_.workloads.push_back(std::move(workload));
}

void PlanReader::readFactor(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Factor factor;
  factor.name = in.string("name");
  llvm::StringSet<> labels;
  in.each("levels", [&](const Value& item, const JsonPath& level_at) {
    JsonFields level(errors_, item, level_at);
    const std::string label = level.string("label");
    if (!labels.insert(label).second) level.fail("label", quoted(label) + " is a second level of that name");
    const Value* found = level.value("value");
    if (!found) level.fail("value", "missing");
    factor.levels.push_back({label, found ? *found : Value(nullptr)});
    level.refuseOthers();
  });
  if (factor.levels.empty()) in.fail("levels", "a factor needs a level");
  if (in.has("baseline")) factor.baseline = in.small("baseline");
  if (factor.baseline && *factor.baseline >= factor.levels.size())
    in.fail("baseline", fmt::format("level {} of {}", *factor.baseline, factor.levels.size()));
  factor.declared = in.strings("declared");
  if (!factors_.insert(factor.name).second) in.fail("name", quoted(factor.name) + " is a second factor of that name");
  in.refuseOthers();
  plan_.factors.push_back(std::move(factor));
}

void PlanReader::readPoint(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Point point;
  point.id = in.string("id");
  in.each("levels", [&](const Value& item, const JsonPath& level_at) {
    const size_t factor = point.levels.size();
    const auto level = item.getAsUINT64();
    if (!level && !item.getAsNull())
      errors_.add(level_at, "expected the index of a level, or null where the factor is not active");
    else if (factor >= plan_.factors.size())
      errors_.add(level_at, fmt::format("the plan has {} factors", plan_.factors.size()));
    else if (level && *level >= plan_.factors[factor].levels.size())
      errors_.add(level_at, fmt::format("level {} of '{}', which has {}", *level, plan_.factors[factor].name,
                                        plan_.factors[factor].levels.size()));
    else
      point.levels.push_back(level ? static_cast<unsigned>(*level) : kInactive);
  });
  if (point.levels.size() != plan_.factors.size())
    in.fail("levels", fmt::format("{} levels for {} factors", point.levels.size(), plan_.factors.size()));
  point.parameters = in.object("parameters");
  if (in.has("workload")) point.workload = in.small("workload");
  if (in.has("estimates"))
    readNumbers(*in.value("estimates"), JsonPath{&at, "estimates", std::nullopt}, point.estimates);
  if (point.workload >= plan_.workloads.size())
    in.fail("workload", fmt::format("workload {} of {}", point.workload, plan_.workloads.size()));
  if (in.has("expected_infeasible")) point.expected_infeasible = in.string("expected_infeasible");
  if (in.has("unavailable")) point.unavailable = in.string("unavailable");
  requireName(in, "id", point.id);
  if (!points_.insert(point.id).second) in.fail("id", quoted(point.id) + " is a second point of that id");
  in.refuseOthers();
  plan_.points.push_back(std::move(point));
}

void PlanReader::readRemoved(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  RemovedGroup group;
  group.rule = in.string("rule");
  group.because = in.string("because");
  group.location = in.string("location");
  group.count = in.whole("count");
  in.each("examples", [&](const Value& item, const JsonPath& example_at) {
    const auto* labels = item.getAsArray();
    if (!labels) return errors_.add(example_at, "expected an array of labels");
    std::vector<std::string> texts;
    for (const Value& label : *labels) {
      if (const auto text = label.getAsString())
        texts.push_back(text->str());
      else
        errors_.add(example_at, "expected an array of labels");
    }
    group.examples.push_back(std::move(texts));
  });
  in.refuseOthers();
  plan_.removed.push_back(std::move(group));
}

void PlanReader::readMetric(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Metric metric;
  metric.name = in.string("name");
  metric.dimension = in.string("dimension");
  metric.unit = in.string("unit");
  metric.better.reset();
  if (in.has("better") || !in.has("derived")) metric.better = in.word<Direction>("better", words::kDirection);
  metric.kind = in.word<TrialKind>("kind", words::kKind);
  metric.exact = in.boolean("exact");
  metric.series = in.boolean("series");
  if (in.has("derived")) {
    metric.derived =
        readTerm(*in.value("derived"), JsonPath{&at, "derived", std::nullopt}, Scope{metric.kind, true}, 0);
    metric.text = in.string("text");
    if (metric.series) in.fail("series", "a derived metric is one value");
  }
  // Derived ones come after what they read.
  if (!metrics_.try_emplace(metric.name, KnownMetric{metric.kind, metric.series, metric.derived != nullptr}).second)
    in.fail("name", quoted(metric.name) + " is a second metric of that name");
  in.refuseOthers();
  plan_.metrics.push_back(std::move(metric));
}

std::vector<std::string> PlanReader::factorNames(JsonFields& in, llvm::StringRef key) {
  std::vector<std::string> names = in.strings(key);
  for (const std::string& name : names)
    if (!factors_.contains(name)) in.fail(key, quoted(name) + " is no factor of the plan");
  return names;
}

void PlanReader::readLooks(JsonFields& in, KindDesign& kind) {
  if (!kind.until.empty()) in.fail("looks", "cannot be planned beside 'until'");
  in.each("looks", [&](const Value& item, const JsonPath&) {
    const std::optional<int64_t> look = item.getAsInteger();
    const unsigned last = kind.looks.empty() ? 0 : kind.looks.back();
    if (!look || *look <= last || *look >= kind.repeat) return in.fail("looks", "must rise, and stay below 'repeat'");
    kind.looks.push_back(static_cast<unsigned>(*look));
  });
}

void PlanReader::readKindDesign(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  KindDesign kind;
  kind.kind = in.word<TrialKind>("kind", words::kKind);
  kind.repeat = kind.repeat_most = in.small("repeat", 1, kMaxRepeat);
  if (in.has("repeat_most")) kind.repeat_most = in.small("repeat_most", kind.repeat, kMaxRepeat);
  if (in.has("until"))
    in.each("until", [&](const Value& item, const JsonPath& until_at) {
      JsonFields fields(errors_, item, until_at);
      Until until{fields.string("subject"), fields.number("half_width"), fields.boolean("relative")};
      requireSubject(fields, until.subject);
      if (until.half_width <= 0) fields.fail("half_width", "is not positive");
      fields.refuseOthers();
      kind.until.push_back(std::move(until));
    });
  if (kind.repeat_most > kind.repeat && kind.until.empty()) in.fail("repeat_most", "says nothing without 'until'");
  if (in.has("looks")) readLooks(in, kind);
  kind.settings = in.object("settings");
  for (const KindDesign& other : plan_.design.kinds)
    if (other.kind == kind.kind) in.fail("kind", "a second design for this kind of trial");
  in.refuseOthers();
  plan_.design.kinds.push_back(std::move(kind));
}

void PlanReader::readControl(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Control control{in.string("name"), in.string("point")};
  requireName(in, "name", control.name);
  for (const Control& other : plan_.controls)
    if (other.name == control.name) in.fail("name", quoted(control.name) + " is a second control of that name");
  if (!points_.contains(control.point)) in.fail("point", quoted(control.point) + " is no point of the plan");
  in.refuseOthers();
  plan_.controls.push_back(std::move(control));
}

void PlanReader::readReference(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Reference reference;
  reference.name = in.string("name");
  reference.source = in.string("source");
  in.each("values", [&](const Value& item, const JsonPath& value_at) {
    JsonFields fields(errors_, item, value_at);
    Reference::Value read{fields.string("point"), fields.string("metric"), fields.number("value")};
    if (!points_.contains(read.point)) fields.fail("point", quoted(read.point) + " is no point of the plan");
    if (!metrics_.contains(read.metric)) fields.fail("metric", quoted(read.metric) + " is no metric of the plan");
    fields.refuseOthers();
    reference.values.push_back(std::move(read));
  });
  in.refuseOthers();
  plan_.references.push_back(std::move(reference));
}

void PlanReader::readDesign(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  in.each("kinds", [&](const Value& item, const JsonPath& kind_at) { readKindDesign(item, kind_at); });
  plan_.design.seed = in.whole("seed");
  if (in.has("budget_seconds")) {
    plan_.design.budget_seconds = in.number("budget_seconds");
    if (*plan_.design.budget_seconds <= 0) in.fail("budget_seconds", "is not positive");
  }
  if (in.has("share")) plan_.design.share = in.small("share", 1, kMostShare);
  if (const Value* validity = in.has("validity") ? in.value("validity") : nullptr)
    readValidity(*validity, JsonPath{&at, "validity", std::nullopt});
  in.refuseOthers();
}

void PlanReader::readValidity(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Validity& validity = plan_.design.validity;
  validity.attempts = in.small("attempts", 1, kMostDisturbed);
  const Value limits(in.object("limits"));
  const JsonPath limits_at{&at, "limits", std::nullopt};
  JsonFields set(errors_, limits, limits_at);
  for (const LimitRule& rule : kLimits) {
    if (!set.has(rule.name)) continue;
    const double limit = validity.limits[std::string(rule.name)] = set.number(rule.name);
    if (limit < 0) set.fail(rule.name, "is negative");
  }
  set.refuseOthers();
  in.refuseOthers();
}

void PlanReader::requireSubject(JsonFields& in, const std::string& subject) {
  if (!metrics_.contains(subject) && !comparisons_.contains(subject))
    in.fail("subject", quoted(subject) + " is no metric or comparison of the plan");
}

void PlanReader::readTable(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Table table{in.string("subject"), factorNames(in, "by")};
  requireSubject(in, table.subject);
  if (in.has("shows")) table.shows = in.word<Table::Shows>("shows", words::kShows);
  if (table.shows == Table::Shows::Front) table.other = in.string("other");
  for (const auto& [key, metric] : {std::pair("subject", table.subject), {"other", table.other}})
    if (table.shows != Table::Shows::Values && !metric.empty() && !metrics_.contains(metric))
      in.fail(key, quoted(metric) + " is no metric of the plan");
  in.refuseOthers();
  plan_.tables.push_back(std::move(table));
}

void PlanReader::readPlot(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Plot plot{in.string("subject"), in.string("over"), factorNames(in, "by")};
  requireSubject(in, plot.subject);
  const bool factor = factors_.contains(plot.over), metrics = metrics_.contains(plot.over);
  const Metric* subject = plan_.findMetric(plot.subject);
  if (!factor && !metrics && !(subject && subject->series))
    in.fail("over", quoted(plot.over) + " is no factor or metric of the plan");
  if (!factor && !subject) in.fail("subject", quoted(plot.subject) + " is no metric, and is plotted over no factor");
  in.refuseOthers();
  plan_.plots.push_back(std::move(plot));
}

llvm::Expected<Plan> planFromJson(const Value& value) { return PlanReader().read(value); }

llvm::Error validate(const Plan& plan) { return PlanReader().read(toJson(plan)).takeError(); }

}  // namespace expc::plan
