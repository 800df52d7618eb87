// Texts of the command line are parsed by rules of the study grammar and then handed to the checker, in a scope
// that is rebuilt from the checked study (Names). Their mistakes are reported in the text itself, which becomes
// a file of the SourceManager called "-D" or by its option.

#include "compiler/expand/select.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <numeric>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "compiler/parse/parse.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"

namespace expc::expand {
namespace {

EXPC_DIAGNOSTIC(NoStudy, "{0} has no study");
EXPC_DIAGNOSTIC(BadOverride, "-D {0}: {1}");
EXPC_DIAGNOSTIC(BadPoint, "'{0}' is not a point of the study: {1}");

/// The scope of a checked study: resolves names in texts that arrive after the file was checked.
struct Names : check::Context {
  Names(const check::Program& program, const check::Study& study, diag::Emitter& emitter)
      : Context{*program.sources, emitter}, scope{*this, check::rootScope(program), study.declaration, study} {
    scope.declareLets();
  }
  check::StudyScope scope;
};

/// Whether an override gives a string or a path without quotes. Shells remove one level of quotes, so this is a
/// common slip; a word that names a `let` is meant as it stands.
bool lacksQuotes(check::StudyScope& scope, const std::string& name, StringRef value) {
  const int parameter = scope.study.findParameter(name);
  if (parameter < 0 || value.find_first_of("\"{,") != StringRef::npos) return false;
  const check::Type::Kind kind = scope.study.parameter(parameter).type.kind;
  return (kind == check::Type::Kind::String || kind == check::Type::Kind::Path) && !scope.lets.contains(value.str()) &&
         !scope.scope.lets.contains(value.str());
}

/// Enters the level of one assignment of a point; false after a report.
bool choose(check::StudyScope& scope, const ast::Assignment& assignment, const std::string& text,
            std::vector<std::optional<unsigned>>& levels) {
  if (assignment.target.parts.size() != 1)
    return scope.emitter.emit({}, BadPoint, text, "write FACTOR=LEVEL for each factor, as in 'precision=fp32 gpus=2'");
  const auto factor = scope.factor(assignment.target.parts[0]);
  const auto level = factor ? scope.level(*assignment.value, *factor, "the level") : std::nullopt;
  if (!level) return false;
  // A level that is named twice is harmless; two levels of one factor are no point.
  if (levels[*factor] && *levels[*factor] != *level)
    return scope.emitter.emit({}, BadPoint, text,
                              fmt::format("it gives two levels of '{}'", assignment.target.parts[0].name));
  levels[*factor] = *level;
  return true;
}

}  // namespace

Selected Selected::whole(const check::Study& study) {
  Selected selected;
  selected.study = &study;
  for (const check::Use& use : study.uses) selected.arguments.push_back(use.arguments);
  selected.given_by.resize(study.workload->parameters.size());
  selected.given_at.resize(study.workload->parameters.size());
  for (const check::Factor& factor : study.factors) {
    std::vector<unsigned>& all = selected.levels.emplace_back(factor.levels.size());
    std::iota(all.begin(), all.end(), 0U);
  }
  selected.kept_at.resize(study.factors.size());
  for (const check::Criterion& criterion : study.criteria) selected.criteria.push_back(&criterion);
  selected.design = *study.design;
  return selected;
}

bool Selected::apply(const check::Change& change, diag::Emitter& emitter) {
  bool good = true;
  for (const check::Assigned& assigned : change.assigned) {
    // A parameter goes to each workload that has it. The workloads of a study share one list of parameters.
    for (size_t use = 0; use < arguments.size(); ++use)
      if (study->uses[use].parameter_of[assigned.parameter] >= 0) arguments[use][assigned.parameter] = assigned.value;
    given_by[assigned.parameter] = change.name;
    given_at[assigned.parameter] = assigned.range;
  }
  for (const check::Only& only : change.only) {
    levels[only.factor] = only.levels;
    kept_at[only.factor] = only.range;
  }
  // Drop before adding: a preset may replace a criterion by one of the same name.
  std::erase_if(criteria, [&](const check::Criterion* criterion) { return change.drops(*criterion); });
  for (const check::Criterion& added : change.criteria) {
    for (const check::Criterion* known : criteria)
      if (known->name == added.name) {
        duplicateName(emitter, "criterion", added, known->range);
        good = false;
      }
    criteria.push_back(&added);
  }
  if (!change.design) return good;
  for (const auto& [kind, block] : change.design->kinds) {
    // Settings of a kind are merged by name; a kind that the study has not designed is added.
    check::Design::Kind& mine = design.kinds[kind];
    if (!mine.range.isValid()) mine.range = block.range;
    // A kind's length is given in steps or in epochs; the later one replaces the other.
    if (block.settings.contains("epochs")) mine.settings.erase("steps");
    if (block.settings.contains("steps")) mine.settings.erase("epochs");
    for (const auto& [name, setting] : block.settings) mine.settings.insert_or_assign(name, setting);
    // A plain `repeat` cancels an adaptive rule or interim looks of an earlier design.
    if (block.settings.contains("repeat")) mine.until = block.until, mine.looks = block.looks;
  }
  for (const auto& [name, setting] : change.design->settings) design.settings.insert_or_assign(name, setting);
  return good;
}

std::vector<const check::Study*> chosenStudies(const check::Program& program, const Selection& selection,
                                               diag::Emitter& emitter) {
  std::vector<const check::Study*> result;
  std::vector<std::string> names;
  for (const auto& study : program.studies) {
    names.push_back(study->name);
    if (!selection.study || *selection.study == study->name) result.push_back(study.get());
  }
  if (!result.empty()) return result;
  // No study matches: name the known ones, or say that the file has none.
  if (selection.study)
    diag::unknownName(emitter, {}, "study", *selection.study, names);
  else
    emitter.emit({}, NoStudy, program.modules.root().path);
  return result;
}

/// Resolves one text of `-D` against a study: "gpus=2", "precision={fp32,bf16}", "size=64px",
/// "design.timed.repeat=20". A value is read by the declared type of its target; for a factor it selects
/// levels. Nothing after reporting (E0601 if the text is malformed, else E01xx, E02xx or E03xx).
static std::optional<check::Change> resolveOverride(const check::Program& program, const check::Study& study,
                                                    const std::string& text, diag::Emitter& emitter) {
  source::SourceManager& sources = *program.sources;
  // Frequent mistakes of form are found before parsing, so that the message shows the command line as it should
  // be.
  if (text.find('=') == std::string::npos)
    return emitter.emit({}, BadOverride, text, "write NAME=VALUE, as in 'gpus=2' or 'design.timed.repeat=20'");
  const bool known = is_contained(program.overrides, text);
  const auto constant = [&](const check::Constant& one) { return check::setsConstant(text, one.name); };
  // Values of constants were replaced when the study was checked.
  if (known && std::ranges::any_of(study.constants, constant)) {
    check::Change change;
    change.name = text;
    return change;
  }
  Names names(program, study, emitter);
  const auto [name, value] = StringRef(text).split('=');
  if (lacksQuotes(names.scope, name.str(), value))
    return emitter.emit(
        {}, BadOverride, text,
        fmt::format("put a string in quotes, inside the shell's: -D '{}=\"{}\"'", name.str(), value.trim('\'').str()));
  const auto file = parse::load(sources, "-D", text, emitter);
  auto setting = file ? parse::parseSetting(sources, *file, emitter) : std::nullopt;
  if (!setting) return std::nullopt;
  if (setting->several) {
    // `-D gpus=1,2` lacks the braces of a set; show the command line with them.
    const size_t equals = text.find('=') + 1;
    return emitter.emit({}, BadOverride, text,
                        fmt::format("put several levels in braces, quoted for the shell: -D '{}{{{}}}'",
                                    text.substr(0, equals), text.substr(equals)));
  }
  // An override is checked as a preset with one assignment, named by its text.
  ast::PresetDecl preset;
  preset.range = setting->assignment.target.range;
  preset.name = {text, preset.range};
  preset.assignments.push_back(std::move(setting->assignment));
  return check::checkPreset(names.scope, preset, true);
}

check::FormulaPtr resolveCondition(const check::Program& program, const check::Study& study, const std::string& option,
                                   const std::string& text, diag::Emitter& emitter) {
  const auto file = parse::load(*program.sources, option, text, emitter);
  const ast::ExprPtr expr = file ? parse::parseExpression(*program.sources, *file, emitter) : nullptr;
  if (!expr) return nullptr;
  Names names(program, study, emitter);
  return names.condition(*expr, names.scope.place(), option);
}

std::optional<std::vector<std::optional<unsigned>>> resolvePoint(const check::Program& program,
                                                                 const check::Study& study, const std::string& text,
                                                                 diag::Emitter& emitter) {
  std::vector<std::optional<unsigned>> levels(study.factors.size());
  if (text.find_first_not_of(' ') == std::string::npos) return levels;
  if (text.find('=') == std::string::npos)
    return emitter.emit({}, BadPoint, text,
                        "write an id, or FACTOR=LEVEL for each factor, as in 'precision=fp32 gpus=2'");
  // `a=x (b, c)=(y, z)`: the parenthesis after a blank would parse as arguments of the level before it. expc
  // prints points in this form, so separate the assignments by a comma.
  std::string separated = text;
  for (const check::Factor& factor : study.factors)
    if (const size_t at = separated.find(" " + factor.name);
        factor.lockstep() && at != std::string::npos && at > 0 && separated[at - 1] != ',')
      separated[at] = ',';
  const auto file = parse::load(*program.sources, "--explain", separated, emitter);
  const std::vector<ast::Assignment> assignments =
      file ? parse::parsePoint(*program.sources, *file, emitter) : std::vector<ast::Assignment>();
  Names names(program, study, emitter);
  for (const ast::Assignment& assignment : assignments)
    if (!choose(names.scope, assignment, text, levels)) return std::nullopt;
  return assignments.empty() ? std::nullopt : std::optional(std::move(levels));
}

std::optional<Selected> select(const check::Program& program, const check::Study& study, const Selection& selection,
                               diag::Emitter& emitter) {
  Selected selected = Selected::whole(study);
  // Go on after a mistake, so that all presets and overrides are reported at once.
  bool good = true;
  for (const std::string& name : selection.presets) {
    if (const check::Change* preset = study.findPreset(name)) {
      good &= selected.apply(*preset, emitter);
      continue;
    }
    diag::unknownName(emitter, {}, "preset", name, check::namesOf(study.presets),
                      fmt::format(" of the study '{}'", study.name));
    good = false;
  }
  for (const std::string& text : selection.overrides) {
    auto change = resolveOverride(program, study, text, emitter);
    if (change) good &= selected.apply(*change, emitter);
    good &= change.has_value();
  }
  return good ? std::optional<Selected>(std::move(selected)) : std::nullopt;
}

std::string Selection::describe() const {
  std::vector<std::string> parts;
  for (const std::string& preset : presets) parts.push_back("preset " + preset);
  for (const std::string& change : overrides) parts.push_back("-D " + change);
  return base::joined(parts);
}

}  // namespace expc::expand
