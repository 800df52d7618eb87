// What the command line says about a study: overrides (-D), conditions (--where) and points (--explain).

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/parse/load.h"
#include "compiler/parse/parse.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadOverride, Error, "-D {0}: {1}", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(BadPoint, Error, "'{0}' names no point: {1}", std::string_view, std::string_view);

bool isIdentifier(std::string_view word) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (word.empty() || !letter(word[0])) return false;
  return std::all_of(word.begin(), word.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// `(loader, layout)`, the name of a factor in lockstep, with single blanks; nothing if it is none.
std::optional<ast::QualifiedName> lockstepName(std::string_view text, source::FileId file) {
  size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  if (begin == std::string_view::npos || text[begin] != '(' || text[end] != ')') return std::nullopt;
  std::string name = "(";
  for (size_t at = begin + 1; at <= end;) {
    size_t stop = std::min(text.find(',', at), end);
    std::string_view part = text.substr(at, stop - at);
    size_t first = part.find_first_not_of(' ');
    if (first == std::string_view::npos) return std::nullopt;
    part = part.substr(first, part.find_last_not_of(' ') - first + 1);
    if (!isIdentifier(part)) return std::nullopt;
    name += (name.size() > 1 ? ", " : "") + std::string(part);
    at = stop + 1;
  }
  source::Range range{file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end + 1)};
  return ast::QualifiedName{{{name + ")", range}}, range};
}

/// `design.timed.repeat` as a name in `file`; nothing if it is none.
std::optional<ast::QualifiedName> pathOf(std::string_view text, source::FileId file) {
  ast::QualifiedName name;
  size_t begin = text.find_first_not_of(' ');
  size_t end = text.find_last_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  name.range = {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end + 1)};
  while (true) {
    size_t dot = std::min(text.find('.', begin), end + 1);
    std::string_view word = text.substr(begin, dot - begin);
    if (!isIdentifier(word)) return std::nullopt;
    name.parts.push_back({std::string(word), {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(dot)}});
    if (dot > end) return name;
    begin = dot + 1;
  }
}

/// An override's text as a preset with one assignment; nothing after a report.
std::optional<ast::PresetDecl> parseOverride(source::SourceManager& sources, const std::string& option,
                                             const std::string& text, diag::Emitter& emitter) {
  // Name and value stand in buffers of their own, so that each can be pointed at.
  auto whole = parse::load(sources, option, text, emitter);
  if (!whole) return std::nullopt;
  size_t equals = text.find('=');
  std::string_view left = std::string_view(text).substr(0, equals);
  auto path = equals == std::string::npos ? std::nullopt : pathOf(left, *whole);
  if (!path && equals != std::string::npos) path = lockstepName(left, *whole);
  if (!path) {
    emitter.emit({}, BadOverride, text, "write NAME=VALUE, as in 'gpus=2' or 'design.timed.repeat=20'");
    return std::nullopt;
  }
  auto value_file = parse::load(sources, option + " " + text.substr(0, equals), text.substr(equals + 1), emitter);
  if (!value_file) return std::nullopt;
  ast::ExprPtr value = parse::parseExpression(sources, *value_file, emitter);
  if (!value) return std::nullopt;
  ast::PresetDecl preset;
  preset.name = {text, path->range};
  preset.range = path->range;
  source::Range range = value->range;
  preset.assignments.push_back({range, std::move(*path), std::move(value)});
  return preset;
}

/// A study as its expressions see it, once more: its lets are resolved anew, nothing else changes.
class Reopened {
 public:
  Reopened(const Program& program, const Study& study, diag::Emitter& emitter)
      : program_(const_cast<Program&>(program)),
        context_{*program.sources, emitter, program_},
        inside_{context_, rootScope(program_), study.declaration, const_cast<Study&>(study)} {
    inside_.declareLets();
  }
  StudyContext& study() { return inside_; }

 private:
  Program& program_;
  Context context_;
  StudyContext inside_;
};

/// "a=b, (c, d)=(e, f) g=h" cut at the blanks and commas outside brackets and quotes.
std::vector<std::string> splitPoint(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '(' || c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ')' || c == ']' || c == '}')) --depth;
    if (!quoted && depth <= 0 && (c == ' ' || c == ',')) {
      if (!part.empty()) parts.push_back(std::move(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(std::move(part));
  return parts;
}

}  // namespace

std::optional<Change> resolveOverride(const Program& program, const Study& study, const std::string& text,
                                      diag::Emitter& emitter) {
  auto preset = parseOverride(*program.sources, "-D", text, emitter);
  if (!preset) return std::nullopt;
  Reopened reopened(program, study, emitter);
  return checkPreset(reopened.study(), *preset, true);
}

FormulaPtr resolveCondition(const Program& program, const Study& study, const std::string& option,
                            const std::string& text, diag::Emitter& emitter) {
  auto file = parse::load(*program.sources, option, text, emitter);
  if (!file) return nullptr;
  ast::ExprPtr expr = parse::parseExpression(*program.sources, *file, emitter);
  if (!expr) return nullptr;
  Reopened reopened(program, study, emitter);
  return reopened.study().expressions().condition(*expr, reopened.study().place(), "the condition");
}

std::optional<std::vector<std::optional<unsigned>>> resolvePoint(const Program& program, const Study& study,
                                                                 const std::string& text, diag::Emitter& emitter) {
  Reopened reopened(program, study, emitter);
  StudyContext& context = reopened.study();
  std::vector<std::optional<unsigned>> levels(study.factors.size());
  for (const std::string& part : splitPoint(text)) {
    if (part.find('=') == std::string::npos) {
      emitter.emit({}, BadPoint, text, "write an id, or FACTOR=LEVEL for each factor, as in 'precision=fp32 gpus=2'");
      return std::nullopt;
    }
    auto preset = parseOverride(*program.sources, "--explain", part, emitter);
    if (!preset) return std::nullopt;
    const ast::Assignment& assignment = preset->assignments[0];
    int factor = assignment.target.parts.size() == 1 ? context.factor(assignment.target.parts[0]) : -1;
    if (assignment.target.parts.size() != 1)
      emitter.emit({}, BadPoint, text, "write FACTOR=LEVEL for each factor, as in 'precision=fp32 gpus=2'");
    if (factor < 0) return std::nullopt;
    auto level = context.level(*assignment.value, static_cast<unsigned>(factor), "the level");
    if (!level) return std::nullopt;
    if (levels[factor] && *levels[factor] != *level) {
      emitter.emit({}, BadPoint, text, fmt::format("it has two levels of '{}'", study.factors[factor].name));
      return std::nullopt;
    }
    levels[factor] = *level;
  }
  return levels;
}

}  // namespace expc::check
