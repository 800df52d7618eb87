#include "compiler/doc/module_page.h"

#include <algorithm>
#include <set>

namespace expc::doc {

namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : std::string(between)) + part;
  return out;
}

/// The file's first comment, up to the first line that is none.
std::string openingComment(std::string_view text) {
  std::string out;
  while (text.starts_with("//") && !text.starts_with("///")) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(2, end - 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out += (out.empty() ? "" : "\n") + std::string(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

class Collector {
 public:
  explicit Collector(const source::SourceManager& sources) : sources_(sources) {}

  std::string text(source::Range range) const { return source::squeeze(sources_.text(range)); }
  std::string text(const ast::ExprPtr& expr) const { return expr ? text(expr->range) : ""; }

  /// The type without its refinement.
  std::string typeName(const ast::TypeExpr& type) const {
    source::Range range = type.range;
    if (!type.refinement) return text(range);
    std::string_view whole = sources_.text(source::Range{range.file, range.begin, type.refinement->range.begin});
    const size_t in = whole.rfind("in");
    return source::squeeze(whole.substr(0, in));
  }

  EnumPage enumeration(const ast::EnumDecl& decl) const {
    EnumPage out{decl.name.name, decl.doc, decl.ordered, {}};
    for (const ast::EnumLevel& level : decl.levels) {
      std::vector<std::string> fields;
      for (const ast::EnumField& field : level.fields)
        fields.push_back((field.name ? field.name->name + " : " : "") + text(field.type->range));
      out.levels.push_back(level.name.name + (fields.empty() ? "" : "(" + joined(fields, ", ") + ")"));
    }
    return out;
  }

  Entry let(const ast::LetDecl& decl) const {
    Entry out;
    out.name = decl.name.name;
    out.type = text(decl.value);
    out.doc = decl.doc;
    return out;
  }

  Entry parameter(const ast::ParamDecl& decl) const {
    Entry out;
    out.name = decl.name.name;
    out.type = typeName(decl.type);
    out.range = text(decl.type.refinement);
    out.fallback = text(decl.default_value);
    out.when = text(decl.when);
    out.doc = decl.doc;
    return out;
  }

  Entry metric(const ast::MetricDecl& decl) const {
    Entry out;
    out.name = decl.name.name;
    if (decl.all) return {out.name + ".*", "", "", "", "", "", "", "", "All metrics of the module " + out.name + "."};
    if (decl.type) {
      out.type = typeName(*decl.type);
      out.range = text(decl.type->refinement);
    }
    out.fallback = text(decl.derived);
    out.source = text(decl.source);
    if (decl.direction) out.direction = decl.direction->name;
    out.kind = decl.kind ? decl.kind->name : decl.derived ? "" : "timed";
    if (decl.exact) out.kind += out.kind.empty() ? "exact" : " exact";
    if (decl.series) out.kind += out.kind.empty() ? "series" : " series";
    out.doc = decl.doc;
    return out;
  }

  WorkloadPage workload(const ast::WorkloadDecl& decl) const {
    WorkloadPage out;
    out.name = decl.name.name;
    out.doc = decl.doc;
    out.version = decl.version.value_or(1);
    if (decl.command) {
      std::vector<std::string> arguments;
      for (const ast::CommandArgument& argument : decl.command->arguments) arguments.push_back(text(argument.range));
      out.command = joined(arguments, " ");
    }
    for (const ast::ParamDecl& param : decl.params) out.parameters.push_back(parameter(param));
    for (const ast::MetricDecl& entry : decl.metrics) out.metrics.push_back(metric(entry));
    for (const ast::LetDecl& named : decl.lets) out.lets.push_back(let(named));
    for (const ast::EstimateDecl& estimate : decl.estimates) {
      Entry entry;
      entry.name = estimate.metric.name;
      entry.type = text(estimate.value);
      entry.when = text(estimate.when);
      entry.doc = estimate.doc;
      out.estimates.push_back(std::move(entry));
    }
    for (const ast::RuleDecl& rule : decl.rules)
      out.rules.push_back({rule.name ? rule.name->name : "", rule.doc, text(rule.condition), rule.because.value_or(""),
                           rule.kind == ast::RuleKind::Exclude});
    return out;
  }

  SystemPage system(const ast::SystemDecl& decl) const {
    SystemPage out{decl.name.name, decl.doc, {}};
    for (const ast::Assignment& property : decl.properties) {
      Entry entry;
      entry.name = text(property.target.range);
      entry.type = text(property.value);
      out.properties.push_back(std::move(entry));
    }
    return out;
  }

  StudyPage study(const ast::StudyDecl& decl) const {
    StudyPage out{decl.name.name, decl.doc, {}};
    for (const ast::FactorDecl& factor : decl.factors) {
      Entry entry;
      entry.name = factor.name.name;
      entry.range = text(factor.levels);
      entry.when = text(factor.when);
      entry.doc = factor.doc;
      out.factors.push_back(std::move(entry));
    }
    return out;
  }

 private:
  const source::SourceManager& sources_;
};

/// Up to the first full stop that ends a sentence.
std::string firstSentence(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (size_t at = text.find(". "); at != std::string::npos; at = text.find(". ", at + 1))
    if (at + 2 < text.size() && text[at + 2] >= 'A' && text[at + 2] <= 'Z') return text.substr(0, at + 1);
  return text;
}

}  // namespace

std::string Entry::signature() const {
  std::string out;
  if (!type.empty()) out += ": " + type;
  if (!range.empty()) out += " in " + range;
  if (!direction.empty()) out += " " + direction;
  if (!kind.empty()) out += " " + kind;
  if (!fallback.empty()) out += " = " + fallback;
  if (!source.empty()) out += "  from " + source;
  if (!when.empty()) out += "  when " + when;
  return out;
}

std::string ModulePage::summary() const {
  if (!doc.empty()) return firstSentence(doc);
  if (workloads.size() == 1 && !workloads[0].doc.empty())
    return workloads[0].name + ": " + firstSentence(workloads[0].doc);
  std::vector<std::string> names;
  for (const WorkloadPage& workload : workloads) names.push_back(workload.name);
  for (const SystemPage& system : systems) names.push_back(system.name);
  for (const StudyPage& study : studies) names.push_back(study.name);
  for (const EnumPage& entry : enums) names.push_back(entry.name);
  for (const Entry& unit : units) names.push_back(unit.name);
  for (const Entry& let : lets) names.push_back(let.name);
  return joined(names, ", ");
}

ModulePage modulePage(const source::SourceManager& sources, const ast::Module& module, std::string title,
                      std::string prefix) {
  const Collector collect(sources);
  ModulePage out;
  out.title = std::move(title);
  out.prefix = std::move(prefix);
  out.doc = openingComment(sources.text(module.file));
  for (const ast::EnumDecl& decl : module.enums) out.enums.push_back(collect.enumeration(decl));
  for (const ast::WorkloadDecl& decl : module.workloads) out.workloads.push_back(collect.workload(decl));
  for (const ast::LetDecl& decl : module.units) out.units.push_back(collect.let(decl));
  for (const ast::LetDecl& decl : module.lets) out.lets.push_back(collect.let(decl));
  for (const ast::MetricDecl& decl : module.metrics) out.metrics.push_back(collect.metric(decl));
  for (const ast::SystemDecl& decl : module.systems) out.systems.push_back(collect.system(decl));
  for (const ast::ReferenceDecl& decl : module.references) {
    Entry entry;
    entry.name = decl.name.name;
    entry.type = collect.text(decl.path.range);
    entry.doc = decl.doc;
    out.references.push_back(std::move(entry));
  }
  for (const ast::StudyDecl& decl : module.studies) out.studies.push_back(collect.study(decl));
  return out;
}

bool keepWorkload(ModulePage& page, std::string_view name) {
  const auto at = std::find_if(page.workloads.begin(), page.workloads.end(),
                               [&](const WorkloadPage& workload) { return workload.name == name; });
  if (at == page.workloads.end()) return false;
  WorkloadPage workload = std::move(*at);
  std::set<std::string> types;
  for (const Entry& parameter : workload.parameters) types.insert(parameter.type);
  std::erase_if(page.enums, [&](const EnumPage& entry) { return !types.contains(entry.name); });
  page.workloads.clear();
  page.workloads.push_back(std::move(workload));
  page.units.clear();
  page.lets.clear();
  page.metrics.clear();
  page.systems.clear();
  page.references.clear();
  page.studies.clear();
  return true;
}

}  // namespace expc::doc
