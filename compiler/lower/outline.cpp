// Builds the head of a plan from the survey: names, factors, removed combinations, design, tables, and the
// comparisons and criteria without their cells. Everything comes from counts and declarations, so it costs no
// walk, except for the digest.

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <set>

#include "compiler/lower/lower.h"
#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/plan/labels.h"

namespace expc::lower {
namespace {

/// The absolute folder of a study file, from which relative paths in parameters start.
std::string rootOf(const std::string& source) {
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(source));
  llvm::sys::fs::make_absolute(folder);
  // Keep `..`, which means something else behind a symbolic link.
  llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/false);
  // "a.exp" in the working directory leaves a separator behind.
  while (folder.size() > 1 && llvm::sys::path::is_separator(folder.back())) folder.pop_back();
  return std::string(folder.str());
}

/// Labels in one line; many are abbreviated: "1, 2, 3, …, 10000 (10000 levels)".
std::string shortened(const std::vector<std::string>& labels) {
  constexpr size_t kMost = 16, kFirst = 3;
  if (labels.size() <= kMost) return llvm::join(labels, ", ");
  return fmt::format("{}, …, {} ({} levels)", fmt::join(labels.begin(), labels.begin() + kFirst, ", "), labels.back(),
                     labels.size());
}

/// The reasons why points of a comparison have no partner: "2: the rule of slow removes it; 1: …", without the
/// number if there is one reason.
std::string whyWithout(const points::Survey::OfComparison& comparison, const check::Study& study,
                       const source::SourceManager& sources) {
  std::string result;
  for (const auto& [missing, count] : comparison.reasons) {
    if (!result.empty()) result += "; ";
    if (comparison.reasons.size() > 1) result += fmt::format("{}: ", count);
    result += text(missing, study, sources);
  }
  return result;
}

/// Builds one outline, section by section.
struct Outliner {
  const points::Prepared& prepared;
  const source::SourceManager& sources = *prepared.program.sources;
  const expand::Selected& selected = prepared.selected;
  const check::Study& study = prepared.study();
  const points::Survey& survey = *prepared.survey;
  Outline outline = {};
  plan::Plan& plan = outline.head;

  Outline run() {
    header();
    if (prepared.system) describe(*prepared.system);
    for (unsigned i = 0; i < study.factors.size(); ++i) plan.factors.push_back(factor(i));
    removed();
    design();
    plan.tables = study.tables;
    plan.plots = study.plots;
    plan.data_paths = survey.data_paths;
    claims();
    outline.points = survey.points;
    outline.available = survey.available;
    outline.expected_infeasible = survey.expected_infeasible;
    // Last, since the digest covers everything above.
    outline.meaning = meaningOf(plan, prepared);
    plan.digest = digestOf(outline.meaning);
    return std::move(outline);
  }

  /// The system's name, and its speeds for ideals in the report. Properties of operations per second
  /// (`gpu.fp32`) become `rates.products` under the name after the dot.
  void describe(const check::System& system) {
    plan.system = system.name;
    const auto rate = [&](std::string_view property) -> std::optional<double> {
      const auto& value = system[property];
      return value && value->asNumber() ? std::optional(value->asNumber()->toDouble()) : std::nullopt;
    };
    for (const check::SystemProperty& property : check::systemProperties())
      if (const auto operations = rate(property.name);
          operations && property.type.dimension.powers[check::Dimension::Operations] > 0)
        plan.rates.products[std::string(property.name.substr(property.name.find('.') + 1))] = *operations;
    plan.rates.memory = rate("gpu.bandwidth");
    plan.rates.link = rate("gpu.link");
    plan.rates.host_link = rate("host.link");
  }

  /// Names, workloads, measured metrics, references.
  void header() {
    plan.study = study.name;
    plan.doc = study.doc;
    plan.source = prepared.program.modules.root().path;
    plan.root = rootOf(plan.source);
    plan.presets = prepared.selection.presets;
    plan.overrides = prepared.selection.overrides;
    for (const check::Use& use : study.uses)
      plan.workloads.push_back({use.label, use.workload->name, use.workload->version, use.workload->command});
    for (unsigned metric : study.measuredWith(selected.criteria))
      plan.metrics.push_back(points::toPlan(study, study.metrics[metric]));
    for (const check::Published& published : study.references)
      plan.references.push_back({published.name, published.source, {}});
  }

  /// A factor with its kept levels. Without a kept baseline it has none.
  plan::Factor factor(unsigned index) const {
    const check::Factor& declared = study.factors[index];
    plan::Factor factor;
    factor.name = declared.name;
    factor.declared = declared.declared;
    factor.inside = declared.inside;
    // The baseline becomes an index into the kept levels, and is absent if the selection leaves it out.
    for (unsigned level : selected.levels[index]) {
      if (declared.baseline == level) factor.baseline = unsigned(factor.levels.size());
      const auto& values = declared.levels[level].values;
      json::Array tuple;
      for (const check::Value& value : values) tuple.push_back(points::toJson(value));
      json::Value value = declared.lockstep() ? json::Value(std::move(tuple)) : std::move(tuple[0]);
      factor.levels.push_back({declared.levels[level].label, std::move(value)});
    }
    return factor;
  }

  /// The combinations that each rule removed, with examples: "*" for a factor that was not looked at, "–" for
  /// one that is not active.
  void removed() {
    plan.product = survey.product;
    for (unsigned i = 0; i < study.rules.size(); ++i) {
      const expand::Removed& removed = survey.removed[i];
      if (removed.count == 0) continue;
      const check::Rule& rule = study.rules[i];
      source::Position position = sources.position(rule.range.file, rule.range.begin);
      plan::RemovedGroup group;
      group.rule = points::ruleName(rule, sources);
      group.because = rule.because;
      group.location = fmt::format("{}:{}:{}", sources.name(rule.range.file), position.line, position.column);
      group.count = removed.count;
      for (const auto& example : removed.examples) {
        std::vector<std::string> labels;
        for (unsigned factor = 0; factor < example.size(); ++factor)
          labels.push_back(example[factor] == expand::kOpen     ? "*"
                           : example[factor] == expand::kAbsent ? plan::kNoLevel
                                                                : study.factors[factor].levels[example[factor]].label);
        group.examples.push_back(std::move(labels));
      }
      plan.removed.push_back(std::move(group));
    }
  }

  /// The design: only kinds of trial that some measured metric needs.
  void design() {
    std::set<plan::TrialKind> measured;
    for (unsigned metric : study.measuredWith(selected.criteria)) measured.insert(study.metrics[metric].kind);
    // A study that only claims that memory runs out measures no metric, but still needs trials of some kind.
    if (measured.empty() && !selected.design.kinds.empty()) measured.insert(selected.design.kinds.begin()->first);
    for (const auto& [kind, block] : selected.design.kinds)
      if (measured.contains(kind)) plan.design.kinds.push_back(kindDesign(kind, block));
    // A setting of the whole design, if it is stated; the plan's defaults stay otherwise.
    const auto set = [&](std::string_view name) -> std::optional<check::Rational> {
      const check::Setting* found = entryOf(selected.design.settings, std::string(name));
      return found ? std::optional(found->value) : std::nullopt;
    };
    if (auto seed = set("seed")) plan.design.seed = uint64_t(seed->numerator());
    if (auto budget = set("budget")) plan.design.budget_seconds = budget->toDouble();
    plan::Validity& validity = plan.design.validity;
    if (auto most = set("repeat_disturbed")) validity.attempts = unsigned(most->numerator());
    for (const plan::LimitRule& rule : plan::kLimits)
      if (auto limit = set(rule.name)) validity.limits[std::string(rule.name)] = limit->toDouble();
    if (auto restart = set("restart")) plan.design.restart = static_cast<plan::Restart>(restart->numerator());
    if (auto share = set("share")) plan.design.share = unsigned(share->numerator());
  }

  /// One kind of trial with its settings and their defaults.
  plan::KindDesign kindDesign(plan::TrialKind kind, const check::Design::Kind& block) const {
    plan::KindDesign design;
    design.kind = kind;
    // A setting of this kind of trial, or its default.
    auto value = [&](const char* name, int64_t otherwise) {
      const check::Setting* found = entryOf(block.settings, name);
      return found ? found->value.numerator() : otherwise;
    };
    design.repeat = design.repeat_most = unsigned(value("repeat", 1));
    if (const auto* repeat = entryOf(block.settings, "repeat"); repeat && repeat->most)
      design.repeat_most = unsigned(repeat->most->numerator());
    for (const check::Until& until : block.until)
      design.until.push_back(
          {study.nameOf(until.comparison, until.metric), until.half_width.toDouble(), until.relative});
    const auto seconds = [&](const char* name) {
      const check::Setting* found = entryOf(block.settings, name);
      return found ? std::optional(found->value.toDouble()) : std::nullopt;
    };
    design.timeout_seconds = seconds("timeout");
    design.takes_seconds = seconds("takes");
    for (const check::Look& look : block.looks) design.looks.push_back(look.repetitions);
    // Built-in workloads always get their length; a command decides itself how long it runs and gets only what
    // is written.
    const bool built_in = std::ranges::any_of(study.uses, [](const check::Use& use) { return !use.workload->command; });
    auto set = [&](const char* name, int64_t otherwise) {
      if (built_in || block.settings.contains(name)) design.settings[name] = value(name, otherwise);
    };
    // Trials count only together with those whose services lived as long.
    if (const auto* restart = entryOf(selected.design.settings, "restart"); restart && restart->value.sign() != 0)
      design.settings["restart"] =
          base::wordOf(plan::words::kRestart, static_cast<plan::Restart>(restart->value.numerator()));
    const bool quality = kind == plan::TrialKind::Quality;
    set(quality || block.settings.contains("epochs") ? "epochs" : "steps", 1);
    // `warmup` is a number of steps for a workload that is told it. For other commands it is the number of
    // starts of the whole program before the counted one.
    const bool told =
        std::ranges::any_of(study.uses, [](const check::Use& use) { return check::isTold(*use.workload, "warmup"); });
    if (!quality && (built_in || told || value("warmup", 0) == 0))
      set("warmup", 0);
    else if (!quality)
      design.settings["uncounted_starts"] = value("warmup", 0);
    return design;
  }

  /// Comparisons and criteria, without cells, and their numbers of cells.
  void claims() {
    for (size_t i = study.implied; i < study.comparisons.size(); ++i) {
      const check::Comparison& declared = study.comparisons[i];
      plan::Comparison result;
      result.name = declared.name;
      result.text = declared.text;
      if (!declared.aggregates()) result.over = study.factors[declared.over].name;
      result.unit = declared.dimension.baseUnit();
      for (unsigned factor = 0; factor < study.factors.size(); ++factor)
        if (!declared.lacks(factor)) result.factors.push_back(study.factors[factor].name);
      result.without_partner = survey.comparisons[i].without;
      result.without_partner_why = whyWithout(survey.comparisons[i], study, sources);
      plan.comparisons.push_back(std::move(result));
      outline.comparison_cells.push_back(survey.comparisons[i].cells - survey.comparisons[i].infeasible);
      outline.comparison_unfit.push_back(survey.comparisons[i].infeasible);
    }
    for (size_t i = 0; i < selected.criteria.size(); ++i) {
      plan.criteria.push_back(criterion(*selected.criteria[i], survey.criteria[i]));
      std::vector<std::string>& factors = plan.criteria.back().factors;
      for (unsigned factor = 0; factor < study.factors.size(); ++factor)
        if (!study.lacks(*selected.criteria[i], factor)) factors.push_back(study.factors[factor].name);
      outline.criterion_cells.push_back(survey.criteria[i].cells - survey.criteria[i].infeasible);
      outline.criterion_unfit.push_back(survey.criteria[i].infeasible);
    }
  }

  /// A criterion's head. `like` gets a text here; each cell gets its own band.
  plan::Criterion criterion(const check::Criterion& declared, const points::Survey::OfCriterion& of) const {
    plan::Criterion result;
    result.name = declared.name;
    result.text = declared.text;
    result.doc = declared.doc;
    result.where = where(declared);
    for (const check::Expectation& one : study.expected)
      if (result.expected.empty() && is_contained(one.criteria, declared.name)) result.expected = one.text;
    result.infeasible = declared.infeasible();
    result.confidence = declared.confidence;
    result.not_asked = of.cells == 0;
    if (!result.not_asked) result.domain = domain(declared, of);
    std::vector<plan::Assertion> assertions;
    for (const check::Assertion& one : declared.assertions) assertions.push_back(assertion(one));
    if (assertions.size() > 1) {
      result.assertions = std::move(assertions);
    } else {
      result.bound = std::move(assertions[0].bound);
      result.unit = std::move(assertions[0].unit);
    }
    return result;
  }

  plan::Assertion assertion(const check::Assertion& declared) const {
    plan::Assertion result{declared.text, declared.infeasible, {}, ""};
    if (declared.infeasible) {
      result.bound = {plan::Relation::GreaterEqual, 1, 1, "infeasible"};
      return result;
    }
    if (declared.absent) {
      result.bound = {plan::Relation::GreaterEqual, 1, 1, "absent"};
      return result;
    }
    result.unit = study.dimensionOf(declared.comparison, declared.metric).baseUnit();
    if (declared.like)
      result.bound = {plan::Relation::Within, 0, 0,
                      fmt::format("like {} within {:.4g}%", study.references[*declared.like].name,
                                  declared.agreement.toDouble() * 100)};
    else
      result.bound = declared.bound;
    return result;
  }

  /// The definitions behind a criterion's names: "gain = speedup(step_time) over precision against fp64",
  /// followed by the comparisons inside it; or a derived metric's formula.
  std::string where(const check::Criterion& criterion) const {
    std::vector<std::string> texts;
    for (const check::Assertion& one : criterion.assertions) {
      for (auto compared = one.comparison; compared; compared = study.comparisons[*compared].inner)
        if (const check::Comparison& own = study.comparisons[*compared]; *compared >= study.implied)
          base::addOnce(texts, own.text.starts_with(own.name) ? own.text : own.name + " = " + own.text);
      if (!one.metric || (one.comparison && *one.comparison >= study.implied)) continue;
      if (const plan::Metric metric = points::toPlan(study, study.metrics[*one.metric]); metric.derived)
        base::addOnce(texts, metric.name + " = " + metric.text);
    }
    return llvm::join(texts, "; ");
  }

  /// Whether an assertion is about values of whole processes, which have no level of inside factors.
  bool isOfProcesses(const check::Assertion& assertion) const {
    auto compared = assertion.comparison;
    while (compared && study.comparisons[*compared].inner) compared = study.comparisons[*compared].inner;
    return compared && *compared < study.implied;
  }

  /// The number of levels of a factor at which an assertion has a value.
  size_t askableOf(const check::Assertion& assertion, unsigned factor) const {
    size_t askable = study.factors[factor].levels.size();
    for (const check::Comparison* at = study.comparison(assertion.comparison); at; at = study.comparison(at->inner))
      if (at->over == factor) --askable;
    const auto selects = [&](const check::Pin& pin) { return pin.factor == factor; };
    return std::ranges::any_of(assertion.pins, selects) ? 1 : askable;
  }

  /// The levels that a criterion was asked for: "precision fp32; gpus 1, 2 of 1..4". "of" shows that a
  /// selection or the machine left levels out.
  std::string domain(const check::Criterion& criterion, const points::Survey::OfCriterion& of) const {
    // An `infeasible` beside other assertions is about their points.
    const auto occurs = [&](unsigned factor, unsigned level) {
      for (size_t i = 0; i < of.assertions.size(); ++i)
        if ((!criterion.assertions[i].infeasible || criterion.infeasible()) &&
            of.assertions[i].seen.count(factor, level) > 0)
          return true;
      return false;
    };
    std::string text;
    for (const auto& [index, factor] : llvm::enumerate(study.factors)) {
      if (factor.inside &&
          std::ranges::all_of(criterion.assertions, [&](const auto& one) { return isOfProcesses(one); }))
        continue;
      std::vector<unsigned> levels;
      for (unsigned level = 0; level < factor.levels.size(); ++level)
        if (occurs(index, level)) levels.push_back(level);
      // The factor varies at none of the cells.
      if (levels.empty()) continue;
      std::vector<std::string> asked;
      for (unsigned level : levels) asked.push_back(factor.levels[level].label);
      std::string labels = shortened(asked), declared = shortened(factor.declared);
      // A comparison has no value at its own baseline, and a pinned factor has one level; neither is a
      // restriction.
      size_t askable = 0;
      for (const check::Assertion& one : criterion.assertions)
        if (!one.infeasible || criterion.infeasible()) askable = std::max(askable, askableOf(one, index));
      text += text.empty() ? "" : "; ";
      text += factor.name + " ";
      if (levels.size() == factor.levels.size())
        text += declared;
      else
        text += levels.size() >= askable ? labels : labels + " of " + declared;
    }
    return text;
  }
};

}  // namespace

Outline outlineOf(const points::Prepared& prepared) { return Outliner{prepared}.run(); }

}  // namespace expc::lower
