// What the command line says about a study: overrides (-D), conditions (--where) and points (--explain).

#include <llvm/ADT/StringRef.h>

#include "compiler/check/checker.h"
#include "compiler/parse/parse.h"
#include "compiler/select/select.h"

namespace expc::select {
namespace {

EXPC_DIAGNOSTIC(BadOverride, Error, "-D {0}: {1}");
EXPC_DIAGNOSTIC(BadPoint, Error, "'{0}' names no point: {1}");

/// The names of a checked study, for texts that come after its file.
class Names {
 public:
  Names(const check::Program& program, const check::Study& study, diag::Emitter& emitter)
      : context_{*program.sources, emitter},
        scope_{context_, check::rootScope(program), study.declaration, study, {}, {}} {
    scope_.declareLets();
  }
  check::StudyScope& scope() { return scope_; }

 private:
  check::Context context_;
  check::StudyScope scope_;
};

/// Whether an override gives a string or a path without quotes, which a shell takes away, and names no `let` either.
bool lacksQuotes(check::StudyScope& scope, const std::string& name, llvm::StringRef value) {
  const int parameter = scope.study.workload->findParameter(name);
  if (parameter < 0 || value.find_first_of("\"{,") != llvm::StringRef::npos) return false;
  const check::Type::Kind kind = scope.study.workload->parameters[parameter].type.kind;
  return (kind == check::Type::Kind::String || kind == check::Type::Kind::Path) && !scope.lets.contains(value.str()) &&
         !scope.scope.lets.contains(value.str());
}

/// A level for each assignment; false after a report.
bool choose(check::StudyScope& scope, const ast::Assignment& assignment, const std::string& text,
            std::vector<std::optional<unsigned>>& levels) {
  if (assignment.target.parts.size() != 1)
    return scope.emitter.refuse({}, BadPoint, text,
                                "write FACTOR=LEVEL for each factor, as in 'precision=fp32 gpus=2'");
  const auto factor = scope.factor(assignment.target.parts[0]);
  const auto level = factor ? scope.level(*assignment.value, *factor, "the level") : std::nullopt;
  if (!level) return false;
  if (levels[*factor] && *levels[*factor] != *level)
    return scope.emitter.refuse({}, BadPoint, text,
                                fmt::format("it has two levels of '{}'", assignment.target.parts[0].name));
  levels[*factor] = *level;
  return true;
}

}  // namespace

std::optional<check::Change> resolveOverride(const check::Program& program, const check::Study& study,
                                             const std::string& text, diag::Emitter& emitter) {
  source::SourceManager& sources = *program.sources;
  if (text.find('=') == std::string::npos)
    return emitter.refuse({}, BadOverride, text, "write NAME=VALUE, as in 'gpus=2' or 'design.timed.repeat=20'");
  Names names(program, study, emitter);
  const auto [name, value] = llvm::StringRef(text).split('=');
  if (lacksQuotes(names.scope(), name.str(), value))
    return emitter.refuse({}, BadOverride, text,
                          fmt::format("a string stands in quotes, inside the shell's: -D '{}=\"{}\"'", name.str(),
                                      value.trim('\'').str()));
  const auto file = parse::load(sources, "-D", text, emitter);
  auto setting = file ? parse::parseSetting(sources, *file, emitter) : std::nullopt;
  if (!setting) return std::nullopt;
  if (setting->several) {
    const size_t equals = text.find('=') + 1;
    return emitter.refuse({}, BadOverride, text,
                          fmt::format("several levels stand in braces, quoted for the shell: -D '{}{{{}}}'",
                                      text.substr(0, equals), text.substr(equals)));
  }
  ast::PresetDecl preset;
  preset.range = setting->assignment.target.range;
  preset.name = {text, preset.range};
  preset.assignments.push_back(std::move(setting->assignment));
  return check::checkPreset(names.scope(), preset, true);
}

check::FormulaPtr resolveCondition(const check::Program& program, const check::Study& study, const std::string& option,
                                   const std::string& text, diag::Emitter& emitter) {
  const auto file = parse::load(*program.sources, option, text, emitter);
  const ast::ExprPtr expr = file ? parse::parseExpression(*program.sources, *file, emitter) : nullptr;
  if (!expr) return nullptr;
  Names names(program, study, emitter);
  return names.scope().expressions().condition(*expr, names.scope().place(), option);
}

std::optional<std::vector<std::optional<unsigned>>> resolvePoint(const check::Program& program,
                                                                 const check::Study& study, const std::string& text,
                                                                 diag::Emitter& emitter) {
  std::vector<std::optional<unsigned>> levels(study.factors.size());
  if (text.find_first_not_of(' ') == std::string::npos) return levels;
  if (text.find('=') == std::string::npos)
    return emitter.refuse({}, BadPoint, text,
                          "write an id, or FACTOR=LEVEL for each factor, as in 'precision=fp32 gpus=2'");
  // After a blank a factor in lockstep could be the arguments of the level before it; as expc shows a point, it is not.
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
    if (!choose(names.scope(), assignment, text, levels)) return std::nullopt;
  return assignments.empty() ? std::nullopt : std::optional(std::move(levels));
}

}  // namespace expc::select
