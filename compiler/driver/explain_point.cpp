#include <fmt/format.h>

#include <algorithm>

#include "compiler/check/expression.h"
#include "compiler/diag/render.h"
#include "compiler/driver/plan_modes.h"
#include "compiler/points/pairs.h"
#include "runtime/plan/printable.h"

namespace expc::driver {
namespace {

EXPC_DIAGNOSTIC(BadPoint, Error, "'{0}' names no point: {1}");

bool looksLikeId(const std::string& text) {
  return !text.empty() && text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

class Explainer {
 public:
  explicit Explainer(points::Prepared& prepared)
      : prepared_(prepared), study_(prepared.study()), sources_(*prepared.program().sources) {}

  /// The points that a beginning of an id names, at most two.
  std::vector<std::vector<unsigned>> withId(const std::string& id) {
    std::vector<std::vector<unsigned>> found;
    prepared_.space().forEach([&](expand::Levels point) {
      if (prepared_.writer().id(point).substr(0, id.size()) == id) found.emplace_back(point.begin(), point.end());
      return found.size() < 2;
    });
    return found;
  }

  /// Levels of all factors: those named, and kAbsent where a factor is not active. Nothing after a report.
  std::optional<std::vector<unsigned>> complete(const std::vector<std::optional<unsigned>>& named,
                                                const std::string& text, diag::Emitter& emitter) {
    std::vector<unsigned> levels(study_.factors.size(), expand::kOpen);
    for (unsigned factor : prepared_.space().order()) {
      const bool active = prepared_.space().active(factor, levels);
      const std::string& name = study_.factors[factor].name;
      if (active && !named[factor]) {
        emitter.emit({}, BadPoint, text, fmt::format("it does not say the level of '{}'", name));
        return std::nullopt;
      }
      if (!active && named[factor]) {
        emitter.build({}, BadPoint, text, fmt::format("'{}' is not active there", name))
            .note(study_.factors[factor].range, "the factor is declared here")
            .emit();
        return std::nullopt;
      }
      levels[factor] = active ? *named[factor] : expand::kAbsent;
    }
    return levels;
  }

  std::string there(expand::Levels point) {
    std::string text = fmt::format("point {}  {}\n", prepared_.writer().id(point), expand::labelOf(study_, point));
    expand::Assignment at(prepared_.selected());
    at.set(point);
    at.settle();
    const check::Use& use = study_.uses[at.use()];
    std::vector<std::pair<std::string, std::string>> rows;
    for (unsigned i = 0; i < study_.workload->parameters.size(); ++i) {
      const check::Parameter& parameter = study_.workload->parameters[i];
      if (study_.hasWorkloadFactor() && i > 0 && use.parameter_of[i] < 0) continue;
      const check::Value* value = at.value(i);
      rows.emplace_back(value ? parameter.name + " = " + value->toString() : parameter.name,
                        value ? origin(i, point, use) : "not active: " + when(i));
    }
    size_t width = 0;
    for (const auto& [left, right] : rows) width = std::max(width, std::min<size_t>(left.size(), 44));
    for (const auto& [left, right] : rows) text += fmt::format("  {:{}}  {}\n", left, width, right);
    if (const std::string& why = prepared_.machine().unavailable(point); !why.empty())
      text += fmt::format("  not available on this system: {}\n", why);
    if (const std::string why = prepared_.machine().expectedInfeasible(point); !why.empty())
      text += fmt::format("  expected infeasible: {}\n", why);
    return text;
  }

  std::string missing(expand::Levels levels, const expand::Obstacle& obstacle) {
    std::string text = fmt::format("no point  {}\n", expand::labelOf(study_, levels));
    const check::Factor& factor = study_.factors[obstacle.factor];
    switch (obstacle.kind) {
      case expand::Obstacle::Kind::LeftOut:
        return text + fmt::format("  the selection leaves out {} = {}\n", factor.name,
                                  factor.levels[levels[obstacle.factor]].label);
      case expand::Obstacle::Kind::Inactive:
      case expand::Obstacle::Kind::Unchosen:
        return text + fmt::format("  '{}' {} there ({})\n", factor.name,
                                  obstacle.kind == expand::Obstacle::Kind::Inactive ? "is not active" : "needs a level",
                                  place(factor.range));
      case expand::Obstacle::Kind::Rule:
        break;
    }
    const check::Rule& rule = study_.rules[obstacle.rule];
    text += fmt::format("  the rule {} removes it ({}): {} {}\n", points::ruleName(rule, sources_), place(rule.range),
                        rule.kind == ast::RuleKind::Require ? "require" : "exclude", rule.text);
    if (!rule.because.empty()) text += fmt::format("  because \"{}\"\n", rule.because);
    expand::Assignment at(prepared_.selected());
    at.set(levels);
    at.settle();
    for (unsigned parameter : rule.parameters) {
      const check::Value* value = at.value(parameter);
      text += fmt::format("    {} {}\n", study_.workload->parameters[parameter].name,
                          value ? "= " + value->toString() : "is not active");
    }
    return text;
  }

 private:
  std::string place(source::Range range) const { return range.isValid() ? diag::place(sources_, range) : ""; }

  std::string origin(unsigned parameter, expand::Levels point, const check::Use& use) const {
    const select::Selected& selected = prepared_.selected();
    const int factor = study_.factor_of[parameter];
    if (factor >= 0 && point[static_cast<size_t>(factor)] != expand::kAbsent)
      return fmt::format("factor, {}", place(study_.factors[static_cast<size_t>(factor)].range));
    if (factor < 0 && !selected.given_by[parameter].empty()) {
      const std::string& name = selected.given_by[parameter];
      const bool preset = study_.findPreset(name) != nullptr;
      return preset ? fmt::format("preset {}, {}", name, place(selected.given_at[parameter])) : "-D " + name;
    }
    if (factor < 0 && use.argument_ranges[parameter].isValid())
      return fmt::format("argument, {}", place(use.argument_ranges[parameter]));
    const check::Parameter& real = use.workload->parameters[static_cast<size_t>(use.parameter_of[parameter])];
    return fmt::format("default of {}, {}", use.workload->name, place(real.range));
  }

  std::string when(unsigned parameter) const {
    const check::FormulaPtr& when = study_.workload->parameters[parameter].when;
    if (!when) return "its factor is not";
    if (study_.hasWorkloadFactor()) return "by its 'when', or not a parameter of this workload";
    return fmt::format("when {} ({})", source::squeeze(sources_.text(when->range)), place(when->range));
  }

  points::Prepared& prepared_;
  const check::Study& study_;
  const source::SourceManager& sources_;
};

}  // namespace

bool explainPoint(points::Prepared& prepared, const std::string& point, const Console& console,
                  diag::Emitter& emitter) {
  Explainer explainer(prepared);
  std::vector<unsigned> levels;
  if (looksLikeId(point)) {
    auto found = explainer.withId(point);
    if (found.size() != 1) {
      emitter.emit({}, BadPoint, point,
                   found.empty() ? "no point of this study has an id that begins so"
                                 : "more than one id begins so; write more of it");
      return false;
    }
    levels = std::move(found[0]);
  } else {
    auto named = select::resolvePoint(prepared.program(), prepared.study(), point, emitter);
    auto complete = named ? explainer.complete(*named, point, emitter) : std::nullopt;
    if (!complete) return false;
    levels = std::move(*complete);
  }
  const auto obstacle = prepared.space().whyNot(levels);
  // Labels and reasons are a study's own text: no control character of theirs reaches the terminal.
  return console.print(plan::printableLines(obstacle ? explainer.missing(levels, *obstacle) : explainer.there(levels)));
}

}  // namespace expc::driver
