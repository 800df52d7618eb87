#include <fmt/format.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

using llvm::json::Value;

/// Terms and claims are evaluated by recursion; the compiler writes far shallower ones.
constexpr unsigned kMaxTermDepth = 64;
/// A plan with more repetitions than this is a slip: it bounds what the engine allocates for blocks.
constexpr unsigned kMaxRepeat = 1000000;

std::string quoted(const std::string& text) { return fmt::format("'{}'", text); }

class PlanReader {
 public:
  llvm::Expected<Plan> read(const Value& value);

 private:
  void readHead(JsonFields& in);
  void readFactor(const Value& value, const JsonPath& at);
  void readPoint(const Value& value, const JsonPath& at);
  void readRemoved(const Value& value, const JsonPath& at);
  void readMetric(const Value& value, const JsonPath& at);
  void readComparison(const Value& value, const JsonPath& at);
  void readCriterion(const Value& value, const JsonPath& at);
  void readDesign(const Value& value, const JsonPath& at);
  void readKindDesign(const Value& value, const JsonPath& at);
  void readTable(const Value& value, const JsonPath& at);
  void readPlot(const Value& value, const JsonPath& at);

  Cell readCell(const Value& value, const JsonPath& at, size_t label_count);
  TermPtr readTerm(const Value& value, const JsonPath& at, TrialKind kind, unsigned depth);
  std::pair<TermPtr, TermPtr> readPair(JsonFields& in, llvm::StringRef key, const JsonPath& at, TrialKind kind,
                                       unsigned depth);
  Bound readBound(const Value& value, const JsonPath& at);
  Claim readClaim(const Value& value, const JsonPath& at, size_t cells, unsigned depth, bool& reaches_cell);
  std::vector<std::string> factorNames(JsonFields& in, llvm::StringRef key);
  void requireSubject(JsonFields& in, const std::string& subject);

  JsonErrors errors_;
  Plan plan_;
  llvm::StringSet<> factors_, points_, comparisons_, criteria_;
  llvm::StringMap<TrialKind> metrics_;
};

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

  readHead(in);
  in.each("factors", [&](const Value& item, const JsonPath& at) { readFactor(item, at); });
  in.each("points", [&](const Value& item, const JsonPath& at) { readPoint(item, at); });
  in.each("removed", [&](const Value& item, const JsonPath& at) { readRemoved(item, at); });
  plan_.product = in.whole("product");
  in.each("metrics", [&](const Value& item, const JsonPath& at) { readMetric(item, at); });
  plan_.data_paths = in.strings("data_paths");
  in.each("comparisons", [&](const Value& item, const JsonPath& at) { readComparison(item, at); });
  in.each("criteria", [&](const Value& item, const JsonPath& at) { readCriterion(item, at); });
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

void PlanReader::readHead(JsonFields& in) {
  plan_.study = in.string("study");
  plan_.doc = in.string("doc");
  plan_.source = in.string("source");
  plan_.root = in.string("root");
  plan_.presets = in.strings("presets");
  plan_.overrides = in.strings("overrides");
  plan_.workloads.emplace_back();
  plan_.workloads[0].name = in.string("workload");
  plan_.workloads[0].version = static_cast<int>(in.small("workload_version", 0, INT32_MAX));
  plan_.digest = in.string("digest");
  if (plan_.study.empty()) in.fail("study", "is empty");
  if (plan_.workloads[0].name.empty()) in.fail("workload", "is empty");
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
    if (!level)
      errors_.add(level_at, "expected the index of a level");
    else if (factor >= plan_.factors.size())
      errors_.add(level_at, fmt::format("the plan has {} factors", plan_.factors.size()));
    else if (*level >= plan_.factors[factor].levels.size())
      errors_.add(level_at, fmt::format("level {} of '{}', which has {}", *level, plan_.factors[factor].name,
                                        plan_.factors[factor].levels.size()));
    else
      point.levels.push_back(static_cast<unsigned>(*level));
  });
  if (point.levels.size() != plan_.factors.size())
    in.fail("levels", fmt::format("{} levels for {} factors", point.levels.size(), plan_.factors.size()));
  point.parameters = in.object("parameters");
  if (in.has("unavailable")) point.unavailable = in.string("unavailable");
  if (point.id.empty())
    in.fail("id", "is empty");
  else if (!points_.insert(point.id).second)
    in.fail("id", quoted(point.id) + " is a second point of that id");
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
  metric.better = in.word<Direction>("better", words::kDirection);
  metric.kind = in.word<TrialKind>("kind", words::kKind);
  metric.exact = in.boolean("exact");
  if (!metrics_.try_emplace(metric.name, metric.kind).second)
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

Cell PlanReader::readCell(const Value& value, const JsonPath& at, size_t label_count) {
  JsonFields in(errors_, value, at);
  Cell cell;
  cell.labels = in.strings("labels");
  if (cell.labels.size() != label_count)
    in.fail("labels", fmt::format("{} labels for {} factors", cell.labels.size(), label_count));
  cell.estimator = in.word<Estimator>("estimator", words::kEstimator);
  cell.kind = in.word<TrialKind>("kind", words::kKind);
  if (const Value* term = in.value("term"))
    cell.term = readTerm(*term, JsonPath{&at, "term", std::nullopt}, cell.kind, 0);
  else
    in.fail("term", "missing, expected an object");
  cell.points = in.strings("points");
  for (const std::string& point : cell.points)
    if (!points_.contains(point)) in.fail("points", quoted(point) + " is no point of the plan");
  in.refuseOthers();
  return cell;
}

std::pair<TermPtr, TermPtr> PlanReader::readPair(JsonFields& in, llvm::StringRef key, const JsonPath& at,
                                                 TrialKind kind, unsigned depth) {
  TermPtr terms[2];
  size_t count = 0;
  in.each(key, [&](const Value& item, const JsonPath& item_at) {
    if (count < 2) terms[count] = readTerm(item, item_at, kind, depth + 1);
    ++count;
  });
  if (count != 2) in.fail(key, fmt::format("expected two terms, found {}", count));
  return {terms[0], terms[1]};
}

TermPtr PlanReader::readTerm(const Value& value, const JsonPath& at, TrialKind kind, unsigned depth) {
  if (depth > kMaxTermDepth) {
    errors_.add(at, fmt::format("terms nested deeper than {}", kMaxTermDepth));
    return nullptr;
  }
  JsonFields in(errors_, value, at);
  Term term;
  if (in.has("constant")) {
    term.node = ConstantTerm{in.number("constant")};
  } else if (in.has("metric")) {
    MetricTerm metric{in.string("metric"), in.string("point")};
    const auto known = metrics_.find(metric.metric);
    if (known == metrics_.end())
      in.fail("metric", quoted(metric.metric) + " is no metric of the plan");
    else if (known->second != kind)
      in.fail("metric", fmt::format("'{}' is measured by {} trials, the cell reads {} ones", metric.metric,
                                    toString(known->second), toString(kind)));
    if (!points_.contains(metric.point)) in.fail("point", quoted(metric.point) + " is no point of the plan");
    term.node = std::move(metric);
  } else if (in.has("quotient")) {
    auto [numerator, denominator] = readPair(in, "quotient", at, kind, depth);
    term.node = QuotientTerm{numerator, denominator};
  } else if (in.has("ratio")) {
    auto [numerator, denominator] = readPair(in, "ratio", at, kind, depth);
    term.node = RatioTerm{numerator, denominator};
  } else if (in.has("difference")) {
    auto [minuend, subtrahend] = readPair(in, "difference", at, kind, depth);
    term.node = DifferenceTerm{minuend, subtrahend};
  } else if (in.has("scale")) {
    ScaleTerm scale{in.number("scale"), nullptr};
    if (const Value* inner = in.value("of"))
      scale.term = readTerm(*inner, JsonPath{&at, "of", std::nullopt}, kind, depth + 1);
    else
      in.fail("of", "missing, expected a term");
    term.node = std::move(scale);
  } else {
    errors_.add(at, "expected a term: constant, metric, quotient, ratio, difference or scale");
  }
  in.refuseOthers();
  return std::make_shared<const Term>(std::move(term));
}

void PlanReader::readComparison(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Comparison comparison;
  comparison.name = in.string("name");
  comparison.text = in.string("text");
  comparison.over = in.string("over");
  comparison.unit = in.string("unit");
  comparison.factors = factorNames(in, "factors");
  if (!factors_.contains(comparison.over)) in.fail("over", quoted(comparison.over) + " is no factor of the plan");
  in.each("cells", [&](const Value& item, const JsonPath& cell_at) {
    comparison.cells.push_back(readCell(item, cell_at, comparison.factors.size()));
  });
  if (in.has("without_partner")) comparison.without_partner = in.whole("without_partner");
  if (in.has("without_partner_why")) comparison.without_partner_why = in.string("without_partner_why");
  if (metrics_.contains(comparison.name) || !comparisons_.insert(comparison.name).second)
    in.fail("name", quoted(comparison.name) + " is taken by another comparison or metric");
  in.refuseOthers();
  plan_.comparisons.push_back(std::move(comparison));
}

Bound PlanReader::readBound(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Bound bound;
  bound.relation = in.word<Relation>("relation", words::kRelation);
  bound.low = in.number("low");
  if (bound.relation == Relation::Within) {
    bound.high = in.number("high");
    if (bound.low > bound.high) in.fail("high", "the band's upper end is below its lower end");
  }
  bound.text = in.string("text");
  in.refuseOthers();
  return bound;
}

Claim PlanReader::readClaim(const Value& value, const JsonPath& at, size_t cells, unsigned depth, bool& reaches_cell) {
  Claim claim;
  if (depth > kMaxTermDepth) {
    errors_.add(at, fmt::format("quantifiers nested deeper than {}", kMaxTermDepth));
    return claim;
  }
  JsonFields in(errors_, value, at);
  claim.kind = in.word<Claim::Kind>("is", words::kClaim);
  if (claim.kind == Claim::Kind::Cell) {
    claim.cell = in.small("cell");
    if (claim.cell >= cells) in.fail("cell", fmt::format("cell {} of {}", claim.cell, cells));
    reaches_cell = true;
  } else {
    in.each("children", [&](const Value& item, const JsonPath& child_at) {
      claim.children.push_back(readClaim(item, child_at, cells, depth + 1, reaches_cell));
    });
  }
  in.refuseOthers();
  return claim;
}

void PlanReader::readCriterion(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Criterion criterion;
  criterion.name = in.string("name");
  criterion.text = in.string("text");
  criterion.doc = in.string("doc");
  criterion.factors = factorNames(in, "factors");
  in.each("cells", [&](const Value& item, const JsonPath& cell_at) {
    criterion.cells.push_back(readCell(item, cell_at, criterion.factors.size()));
  });
  if (const Value* bound = in.value("bound"))
    criterion.bound = readBound(*bound, JsonPath{&at, "bound", std::nullopt});
  else
    in.fail("bound", "missing, expected an object");
  if (in.has("confidence")) {
    criterion.confidence = in.number("confidence");
    if (*criterion.confidence <= 0 || *criterion.confidence >= 1) in.fail("confidence", "is not between 0 and 1");
  }
  criterion.unit = in.string("unit");
  criterion.domain = in.string("domain");
  criterion.not_asked = in.boolean("not_asked");
  bool reaches_cell = false;
  if (const Value* claim = in.value("claim"))
    criterion.claim = readClaim(*claim, JsonPath{&at, "claim", std::nullopt}, criterion.cells.size(), 0, reaches_cell);
  else
    in.fail("claim", "missing, expected an object");
  // Such a criterion would pass whatever is measured.
  if (!reaches_cell && !criterion.not_asked) in.fail("claim", "claims nothing: no cell is reached");
  if (!criteria_.insert(criterion.name).second)
    in.fail("name", quoted(criterion.name) + " is a second criterion of that name");
  in.refuseOthers();
  plan_.criteria.push_back(std::move(criterion));
}

void PlanReader::readKindDesign(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  KindDesign kind;
  kind.kind = in.word<TrialKind>("kind", words::kKind);
  kind.repeat = in.small("repeat", 1, kMaxRepeat);
  kind.settings = in.object("settings");
  for (const KindDesign& other : plan_.design.kinds)
    if (other.kind == kind.kind) in.fail("kind", "a second design for this kind of trial");
  in.refuseOthers();
  plan_.design.kinds.push_back(std::move(kind));
}

void PlanReader::readDesign(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  in.each("kinds", [&](const Value& item, const JsonPath& kind_at) { readKindDesign(item, kind_at); });
  plan_.design.seed = in.whole("seed");
  if (in.has("budget_seconds")) {
    plan_.design.budget_seconds = in.number("budget_seconds");
    if (*plan_.design.budget_seconds <= 0) in.fail("budget_seconds", "is not positive");
  }
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
  in.refuseOthers();
  plan_.tables.push_back(std::move(table));
}

void PlanReader::readPlot(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Plot plot{in.string("subject"), in.string("over"), factorNames(in, "by")};
  requireSubject(in, plot.subject);
  if (!factors_.contains(plot.over)) in.fail("over", quoted(plot.over) + " is no factor of the plan");
  in.refuseOthers();
  plan_.plots.push_back(std::move(plot));
}

}  // namespace

llvm::Expected<Plan> planFromJson(const Value& value) { return PlanReader().read(value); }

}  // namespace expc::plan
