#include <fmt/ranges.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <set>

#include "compiler/lower/lower.h"
#include "compiler/points/terms.h"

namespace expc::lower {
namespace {

std::string rootOf(const std::string& source) {
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(source));
  llvm::sys::fs::make_absolute(folder);
  llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/false);
  // "a.exp" in the working directory leaves a separator behind.
  while (folder.size() > 1 && llvm::sys::path::is_separator(folder.back())) folder.pop_back();
  return std::string(folder.str());
}

/// "1, 2, 3, …, 10000 (10000 levels)": many are not written out.
std::string shortened(const std::vector<std::string>& labels) {
  constexpr size_t kMost = 16, kFirst = 3;
  if (labels.size() <= kMost) return fmt::format("{}", fmt::join(labels, ", "));
  return fmt::format("{}, …, {} ({} levels)", fmt::join(labels.begin(), labels.begin() + kFirst, ", "), labels.back(),
                     labels.size());
}

/// Why points of a comparison have no partner: "2: the rule of slow removes it; 1: …", without the number where there
/// is one reason.
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

class Outliner {
 public:
  explicit Outliner(const points::Prepared& prepared)
      : prepared_(prepared),
        sources_(*prepared.program().sources),
        selected_(prepared.selected()),
        study_(prepared.study()),
        survey_(prepared.survey()),
        plan_(outline_.head) {}

  Outline run() {
    header();
    if (prepared_.system()) describe(*prepared_.system());
    for (unsigned i = 0; i < study_.factors.size(); ++i) plan_.factors.push_back(factor(i));
    removed();
    design();
    plan_.tables = study_.tables;
    plan_.plots = study_.plots;
    plan_.data_paths = survey_.data_paths;
    claims();
    outline_.points = survey_.points;
    outline_.available = survey_.available;
    outline_.expected_infeasible = survey_.expected_infeasible;
    outline_.meaning = meaningOf(plan_, prepared_);
    plan_.digest = digestOf(outline_.meaning);
    return std::move(outline_);
  }

 private:
  void describe(const check::System& system) {
    plan_.system = system.name;
    const auto rate = [&](std::string_view property) -> std::optional<double> {
      const auto& value = system[property];
      return value && value->asNumber() ? std::optional(value->asNumber()->toDouble()) : std::nullopt;
    };
    for (const check::SystemProperty& property : check::systemProperties())
      if (const auto operations = rate(property.name);
          operations && property.type.dimension.powers[check::Dimension::Operations] > 0)
        plan_.rates.products[std::string(property.name.substr(property.name.find('.') + 1))] = *operations;
    plan_.rates.memory = rate("gpu.bandwidth");
    plan_.rates.link = rate("gpu.link");
    plan_.rates.host_link = rate("host.link");
  }

  void header() {
    plan_.study = study_.name;
    plan_.doc = study_.doc;
    plan_.source = prepared_.program().modules.root().path;
    plan_.root = rootOf(plan_.source);
    plan_.presets = prepared_.selection().presets;
    plan_.overrides = prepared_.selection().overrides;
    for (const check::Use& use : study_.uses)
      plan_.workloads.push_back({use.label, use.workload->name, use.workload->version, use.workload->command});
    for (unsigned metric : study_.measuredWith(selected_.criteria))
      plan_.metrics.push_back(points::toPlan(study_, study_.metrics[metric]));
    for (const check::Published& published : study_.references)
      plan_.references.push_back({published.name, published.source, {}});
  }

  plan::Factor factor(unsigned index) const {
    const check::Factor& declared = study_.factors[index];
    plan::Factor factor;
    factor.name = declared.name;
    factor.declared = declared.declared;
    for (unsigned level : selected_.levels[index]) {
      if (declared.baseline == level) factor.baseline = static_cast<unsigned>(factor.levels.size());
      const auto& values = declared.levels[level].values;
      llvm::json::Array tuple;
      for (const check::Value& value : values) tuple.push_back(points::toJson(value));
      llvm::json::Value value = declared.lockstep() ? llvm::json::Value(std::move(tuple)) : std::move(tuple[0]);
      factor.levels.push_back({declared.levels[level].label, std::move(value)});
    }
    return factor;
  }

  void removed() {
    plan_.product = survey_.product;
    for (unsigned i = 0; i < study_.rules.size(); ++i) {
      const expand::Walker::Removed& removed = survey_.removed[i];
      if (removed.count == 0) continue;
      const check::Rule& rule = study_.rules[i];
      source::Position position = sources_.position(rule.range.file, rule.range.begin);
      plan::RemovedGroup group;
      group.rule = points::ruleName(rule, sources_);
      group.because = rule.because;
      group.location = fmt::format("{}:{}:{}", sources_.name(rule.range.file), position.line, position.column);
      group.count = removed.count;
      for (const auto& example : removed.examples) {
        std::vector<std::string> labels;
        for (unsigned factor = 0; factor < example.size(); ++factor)
          labels.push_back(example[factor] == expand::kOpen     ? "*"
                           : example[factor] == expand::kAbsent ? "–"
                                                                : study_.factors[factor].levels[example[factor]].label);
        group.examples.push_back(std::move(labels));
      }
      plan_.removed.push_back(std::move(group));
    }
  }

  void design() {
    std::set<plan::TrialKind> measured;
    for (unsigned metric : study_.measuredWith(selected_.criteria)) measured.insert(study_.metrics[metric].kind);
    // A claim that points run out of memory takes trials of some kind.
    if (measured.empty() && !selected_.design.kinds.empty()) measured.insert(selected_.design.kinds.begin()->first);
    for (const auto& [kind, block] : selected_.design.kinds)
      if (measured.contains(kind)) plan_.design.kinds.push_back(kindDesign(kind, block));
    const auto set = [&](std::string_view name) -> std::optional<check::Rational> {
      const auto found = selected_.design.settings.find(std::string(name));
      return found == selected_.design.settings.end() ? std::nullopt : std::optional(found->second.value);
    };
    if (auto seed = set("seed")) plan_.design.seed = static_cast<uint64_t>(seed->numerator());
    if (auto budget = set("budget")) plan_.design.budget_seconds = budget->toDouble();
    plan::Validity& validity = plan_.design.validity;
    if (auto most = set("repeat_disturbed")) validity.attempts = static_cast<unsigned>(most->numerator());
    for (const plan::LimitRule& rule : plan::kLimits)
      if (auto limit = set(rule.name)) validity.limits[std::string(rule.name)] = limit->toDouble();
    if (auto share = set("share")) plan_.design.share = static_cast<unsigned>(share->numerator());
  }

  plan::KindDesign kindDesign(plan::TrialKind kind, const check::Design::Kind& block) const {
    plan::KindDesign design;
    design.kind = kind;
    auto value = [&](const char* name, int64_t otherwise) {
      auto found = block.settings.find(name);
      return found == block.settings.end() ? otherwise : found->second.value.numerator();
    };
    design.repeat = design.repeat_most = static_cast<unsigned>(value("repeat", 1));
    if (auto repeat = block.settings.find("repeat"); repeat != block.settings.end() && repeat->second.most)
      design.repeat_most = static_cast<unsigned>(repeat->second.most->numerator());
    for (const check::Until& until : block.until)
      design.until.push_back(
          {until.comparison ? study_.comparisons[*until.comparison].name : study_.metrics[*until.metric].name,
           until.half_width.toDouble(), until.relative});
    if (auto timeout = block.settings.find("timeout"); timeout != block.settings.end())
      design.timeout_seconds = timeout->second.value.toDouble();
    for (const check::Look& look : block.looks) design.looks.push_back(look.repetitions);
    // How long a command runs is its own affair: it is told only what is written.
    const bool built_in = std::any_of(study_.uses.begin(), study_.uses.end(),
                                      [](const check::Use& use) { return !use.workload->command; });
    auto set = [&](const char* name, int64_t otherwise) {
      if (built_in || block.settings.contains(name)) design.settings[name] = value(name, otherwise);
    };
    const bool quality = kind == plan::TrialKind::Quality;
    set(quality || block.settings.contains("epochs") ? "epochs" : "steps", 1);
    const bool told =
        std::ranges::any_of(study_.uses, [](const check::Use& use) { return check::isTold(*use.workload, "warmup"); });
    if (!quality && (built_in || told || value("warmup", 0) == 0))
      set("warmup", 0);
    else if (!quality)  // steps mean nothing to any of the programs
      design.settings["uncounted_starts"] = value("warmup", 0);
    return design;
  }

  void claims() {
    std::vector<std::string> factors;
    for (const check::Factor& factor : study_.factors) factors.push_back(factor.name);
    for (size_t i = 0; i < study_.comparisons.size(); ++i) {
      const check::Comparison& declared = study_.comparisons[i];
      plan::Comparison result;
      result.name = declared.name;
      result.text = declared.text;
      result.over = study_.factors[declared.over].name;
      result.unit = declared.dimension.baseUnit();
      result.factors = factors;
      result.without_partner = survey_.comparisons[i].without;
      result.without_partner_why = whyWithout(survey_.comparisons[i], study_, sources_);
      plan_.comparisons.push_back(std::move(result));
      outline_.comparison_cells.push_back(survey_.comparisons[i].cells - survey_.comparisons[i].infeasible);
      outline_.comparison_unfit.push_back(survey_.comparisons[i].infeasible);
    }
    for (size_t i = 0; i < selected_.criteria.size(); ++i) {
      plan_.criteria.push_back(criterion(*selected_.criteria[i], survey_.criteria[i]));
      plan_.criteria.back().factors = factors;
      // What claims that memory runs out is about just these.
      const uint64_t unfit = selected_.criteria[i]->infeasible ? 0 : survey_.criteria[i].infeasible;
      outline_.criterion_cells.push_back(survey_.criteria[i].cells - unfit);
      outline_.criterion_unfit.push_back(unfit);
    }
  }

  plan::Criterion criterion(const check::Criterion& declared, const points::Survey::OfCriterion& of) const {
    plan::Criterion result;
    result.name = declared.name;
    result.text = declared.text;
    result.doc = declared.doc;
    result.where = where(declared);
    result.infeasible = declared.infeasible;
    result.confidence = declared.confidence;
    result.not_asked = of.cells == 0;
    if (!result.not_asked) result.domain = domain(declared, of);
    if (declared.infeasible) {
      result.bound = {plan::Relation::GreaterEqual, 1, 1, "infeasible"};
      return result;
    }
    result.unit = (declared.comparison ? study_.comparisons[*declared.comparison].dimension
                                       : study_.metrics[*declared.metric].dimension)
                      .baseUnit();
    if (declared.like)
      result.bound = {plan::Relation::Within, 0, 0,
                      fmt::format("like {} within {:.4g}%", study_.references[*declared.like].name,
                                  declared.agreement.toDouble() * 100)};
    else
      result.bound = declared.bound;
    return result;
  }

  /// "gain = speedup(step_time) over precision against fp64", with what that compares in turn; or a metric's formula.
  std::string where(const check::Criterion& criterion) const {
    std::vector<std::string> texts;
    for (auto compared = criterion.comparison; compared; compared = study_.comparisons[*compared].inner)
      texts.push_back(study_.comparisons[*compared].name + " = " + study_.comparisons[*compared].text);
    if (texts.empty() && criterion.metric)
      if (const plan::Metric metric = points::toPlan(study_, study_.metrics[*criterion.metric]); metric.derived)
        texts.push_back(metric.name + " = " + metric.text);
    return fmt::format("{}", fmt::join(texts, "; "));
  }

  /// "precision fp32; gpus 1, 2 of 1..4": what was asked, and of how much where a selection or the machine left levels
  /// out.
  std::string domain(const check::Criterion& criterion, const points::Survey::OfCriterion& of) const {
    std::string text;
    for (unsigned index = 0; index < study_.factors.size(); ++index) {
      const check::Factor& factor = study_.factors[index];
      std::vector<unsigned> levels;
      for (unsigned level = 0; level < factor.levels.size(); ++level)
        if (of.levels[index][level]) levels.push_back(level);
      if (levels.empty()) continue;  // it varies nowhere there
      std::vector<std::string> asked;
      for (unsigned level : levels) asked.push_back(factor.levels[level].label);
      std::string labels = shortened(asked), declared = shortened(factor.declared);
      // A comparison says nothing at its own baseline.
      size_t askable = factor.levels.size();
      auto compared = criterion.infeasible ? std::optional<unsigned>() : criterion.comparison;
      for (; compared; compared = study_.comparisons[*compared].inner)
        if (study_.comparisons[*compared].over == index) --askable;
      for (const check::Pin& pin : criterion.pins)
        if (pin.factor == index) askable = 1;
      text += text.empty() ? "" : "; ";
      text += factor.name + " ";
      if (levels.size() == factor.levels.size())
        text += declared;
      else
        text += levels.size() >= askable ? labels : labels + " of " + declared;
    }
    return text;
  }

  const points::Prepared& prepared_;
  const source::SourceManager& sources_;
  const select::Selected& selected_;
  const check::Study& study_;
  const points::Survey& survey_;
  Outline outline_;
  plan::Plan& plan_;
};

}  // namespace

Outline outlineOf(const points::Prepared& prepared) { return Outliner(prepared).run(); }

}  // namespace expc::lower
