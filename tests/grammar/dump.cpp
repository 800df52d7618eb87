#include "tests/grammar/dump.h"

#include <fmt/ranges.h>

#include <utility>

#include "runtime/base/format.h"

namespace expc::ast {

namespace {

std::string_view symbol(BinaryOp op) {
  static constexpr std::string_view kSymbols[] = {
      "or", "and", "==", "!=", "<", "<=", ">", ">=", "in", "not-in", "+", "-", "*", "/", "??"};
  return kSymbols[size_t(op)];
}

std::string name(const QualifiedName& qualified) {
  std::string out;
  for (const Identifier& part : qualified.parts) out += (out.empty() ? "" : ".") + part.name;
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string list(const std::vector<ExprPtr>& elements) {
  std::string out;
  for (const ExprPtr& element : elements) out += " " + dump(*element);
  return out;
}

std::string list(const std::vector<CallArgument>& arguments) {
  std::string out;
  for (const CallArgument& argument : arguments)
    out += " " +
           (argument.name ? fmt::format("{}={}", argument.name->name, dump(*argument.value)) : dump(*argument.value));
  return out;
}

std::string names(const std::vector<Identifier>& identifiers) {
  std::string out;
  for (const Identifier& identifier : identifiers) out += (out.empty() ? "" : ", ") + identifier.name;
  return out;
}

std::string texts(const std::vector<Text>& given) {
  std::string out;
  for (const Text& text : given) out += " " + quoted(text.value);
  return out;
}

std::string arguments(const std::vector<CommandArgument>& given) {
  std::string out;
  for (const CommandArgument& argument : given)
    out += argument.options ? " (options" + texts(argument.texts) + ")" : texts(argument.texts);
  return out;
}

struct ExprDumper {
  std::string operator()(const NumberLiteral& number) const {
    return number.unit.empty() ? number.digits : number.digits + "'" + number.unit;
  }
  std::string operator()(const StringLiteral& text) const { return quoted(text.value); }
  std::string operator()(const BoolLiteral& literal) const { return literal.value ? "true" : "false"; }
  std::string operator()(const NameExpr& expr) const { return name(expr.name); }
  std::string operator()(const CallExpr& call) const {
    return fmt::format("(call {}{})", name(call.callee), list(call.arguments));
  }
  std::string operator()(const IndexExpr& index) const {
    return fmt::format("(index {}{})", dump(*index.base), list(index.selectors));
  }
  std::string operator()(const UnaryExpr& unary) const {
    return fmt::format("({} {})", unary.op == UnaryOp::Not ? "not" : "neg", dump(*unary.operand));
  }
  std::string operator()(const BinaryExpr& binary) const {
    return fmt::format("({} {} {})", symbol(binary.op), dump(*binary.left), dump(*binary.right));
  }
  std::string operator()(const SetExpr& set) const { return fmt::format("(set{})", list(set.elements)); }
  std::string operator()(const RangeExpr& range) const {
    std::string out = fmt::format("(range {} {}", dump(*range.lower), range.upper ? dump(*range.upper) : "_");
    if (range.step) out += fmt::format(" {} {}", range.geometric ? "by*" : "by", dump(*range.step));
    return out + ")";
  }
  std::string operator()(const ListExpr& values) const { return fmt::format("(list{})", list(values.elements)); }
  std::string operator()(const RecordExpr& record) const { return fmt::format("(record{})", list(record.fields)); }
  std::string operator()(const TupleExpr& tuple) const { return fmt::format("(tuple{})", list(tuple.elements)); }
};

/// Collects indented lines.
class ModuleDumper {
 public:
  std::string take() { return std::move(out_); }

  void module(const Module& module) {
    for (const Import& import : module.imports) {
      const auto* path = std::get_if<StringLiteral>(&import.target);
      line("import {}{}", path ? quoted(path->value) : name(std::get<QualifiedName>(import.target)),
           import.alias ? " as " + import.alias->name : "");
    }
    for (const LetDecl& declaration : module.units) let(declaration, "unit");
    for (const EnumDecl& declaration : module.enums) enumeration(declaration);
    for (const LetDecl& declaration : module.lets) let(declaration);
    for (const MetricDecl& declaration : module.metrics) metric(declaration);
    for (const WorkloadDecl& declaration : module.workloads) workload("workload", declaration);
    for (const WorkloadDecl& declaration : module.services) workload("service", declaration);
    for (const SystemDecl& declaration : module.systems) system(declaration);
    for (const ReferenceDecl& declaration : module.references) reference(declaration);
    for (const ConfidenceDecl& declaration : module.confidences) line("confidence {}", dump(*declaration.value));
    for (const DesignDecl& declaration : module.designs) design(declaration);
    for (const PresetDecl& declaration : module.presets) preset(declaration);
    for (const PartDecl& declaration : module.parts) study("part", declaration);
    for (const StudyDecl& declaration : module.studies) study("study", declaration);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * depth_, ' ');
    out_ += fmt::format(format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  void doc(const std::string& text) {
    if (!text.empty()) line("doc {}", quoted(text));
  }
  void optional(std::string_view what, const ExprPtr& expr) {
    if (!expr) return;
    ++depth_;
    line("{} {}", what, dump(*expr));
    --depth_;
  }

  std::string type(const TypeExpr& type) {
    std::string out = shape(type);
    for (const Identifier& below : type.per) out += " / " + below.name;
    return type.refinement ? fmt::format("{} in {}", out, dump(*type.refinement)) : out;
  }

  std::string shape(const TypeExpr& whole) {
    if (whole.shape == TypeExpr::Shape::Named) return name(whole.name);
    std::string out = whole.shape == TypeExpr::Shape::List    ? "(list"
                      : whole.shape == TypeExpr::Shape::Tuple ? "(tuple"
                                                              : "(record";
    for (size_t at = 0; at < whole.parts.size(); ++at) {
      out += at > 0 ? ", " : " ";
      if (at < whole.fields.size()) out += whole.fields[at].name + " : ";
      out += type(whole.parts[at]);
    }
    return out + ")";
  }

  void enumeration(const EnumDecl& declaration) {
    line("{}enum {}", declaration.ordered ? "ordered " : "", declaration.name.name);
    ++depth_;
    doc(declaration.doc);
    for (const EnumLevel& level : declaration.levels) {
      std::string fields;
      for (const EnumField& field : level.fields)
        fields += fmt::format(" ({}{})", field.name ? field.name->name + " : " : "", type(*field.type));
      line("level {}{}", level.name.name, fields);
    }
    --depth_;
  }

  void let(const LetDecl& declaration, const char* head = "let") {
    line("{} {}{}", head, declaration.name.name, declaration.value ? " = " + dump(*declaration.value) : "");
    ++depth_;
    doc(declaration.doc);
    --depth_;
  }

  void metric(const MetricDecl& metric) {
    line("metric {}{}{}{}{}{}{}{}{}", metric.name.name, metric.all ? ".*" : "",
         metric.type ? " : " + type(*metric.type) : "", metric.derived ? " = " + dump(*metric.derived) : "",
         metric.direction ? " " + metric.direction->name : "", metric.kind ? " " + metric.kind->name : "",
         metric.exact ? " exact" : "", metric.series ? " series" : "", metric.optional ? " optional" : "");
    optional("from", metric.source);
    ++depth_;
    doc(metric.doc);
    --depth_;
  }

  void constraint(const RuleDecl& rule) {
    line("{}{} {}{}", rule.kind == RuleKind::Require ? "require" : "exclude",
         rule.name ? " " + rule.name->name + ":" : "", dump(*rule.condition),
         rule.because ? " because " + quoted(*rule.because) : "");
    ++depth_;
    doc(rule.doc);
    --depth_;
  }

  void command(std::string_view head, const Command& command) {
    line("{}{}", head, arguments(command.arguments));
    optional("timeout", command.timeout);
  }

  void param(const ParamDecl& param) {
    line("param {} : {}", param.name.name, type(param.type));
    optional("default", param.value);
    ++depth_;
    if (param.inside) line("inside");
    --depth_;
    optional("from", param.inside_source);
    optional("when", param.when);
    optional("strong", param.strong);
    ++depth_;
    doc(param.doc);
    --depth_;
  }

  void workload(std::string_view head, const WorkloadDecl& declaration) {
    line("{} {}", head, declaration.name.name);
    ++depth_;
    doc(declaration.doc);
    if (declaration.command) command("command", *declaration.command);
    if (!declaration.inputs.empty()) line("inputs{}", texts(declaration.inputs));
    if (!declaration.copied.empty()) line("inputs copy{}", texts(declaration.copied));
    optional("outputs", declaration.outputs);
    if (declaration.prepare) command("prepare", *declaration.prepare);
    if (declaration.before) command("before", *declaration.before);
    if (!declaration.exit_codes.empty()) line("exit {}", fmt::join(declaration.exit_codes, " "));
    for (const NamedUse& service : declaration.services) line("service {}", name(service.name));
    if (declaration.ready) {
      line("ready {}", dump(*declaration.ready->how));
      optional("timeout", declaration.ready->timeout);
    }
    for (const ExprPtr& expectation : declaration.expectations) line("expect {}", dump(*expectation));
    if (declaration.version) line("version {}", *declaration.version);
    for (const ParamDecl& declared : declaration.params) param(declared);
    for (const LetDecl& named : declaration.lets) let(named);
    for (const MetricDecl& declared : declaration.metrics) metric(declared);
    for (const EstimateDecl& estimate : declaration.estimates) {
      line("estimate {} = {}", estimate.name.name, dump(*estimate.value));
      optional("when", estimate.when);
      ++depth_;
      doc(estimate.doc);
      --depth_;
    }
    for (const RuleDecl& rule : declaration.rules) constraint(rule);
    --depth_;
  }

  void system(const SystemDecl& declaration) {
    line("system {}", declaration.name.name);
    ++depth_;
    doc(declaration.doc);
    for (const Assignment& property : declaration.properties)
      line("{} = {}", name(property.target), dump(*property.value));
    --depth_;
  }

  void reference(const ReferenceDecl& declaration) {
    line("reference {} from {}", declaration.name.name, quoted(declaration.path.value));
    ++depth_;
    doc(declaration.doc);
    for (const LetDecl& column : declaration.columns)
      line("{}{}", column.name.name, column.value ? " = " + dump(*column.value) : "");
    --depth_;
  }

  void criterion(const CriterionDecl& criterion) {
    line("criterion {}", criterion.name.name);
    ++depth_;
    doc(criterion.doc);
    claim(criterion.claim);
    if (criterion.confidence) line("confidence {}", dump(*criterion.confidence));
    if (criterion.always.isValid()) line("always");
    --depth_;
  }

  void claim(const Claim& claim) {
    for (const Quantifier& quantifier : claim.quantifiers) {
      const std::string kind = quantifier.kind == QuantifierKind::ForAll   ? "forall"
                               : quantifier.kind == QuantifierKind::Exists ? "exists"
                                                                           : "at least " + dump(*quantifier.least);
      line("{} {}", kind, quantifier.all ? "*" : names(quantifier.factors));
      optional("where", quantifier.where);
    }
    if (claim.kind == Claim::Kind::Assertion) return assertion(claim.assertion);
    line("{}", claim.kind == Claim::Kind::And ? "and" : "or");
    ++depth_;
    for (const Claim& part : claim.parts) this->claim(part);
    --depth_;
  }

  void assertion(const Assertion& assertion) {
    if (assertion.infeasible) line("infeasible");
    if (assertion.subject) line("subject {}", dump(*assertion.subject));
    if (assertion.like) line("like {}", name(*assertion.like));
    optional("within", assertion.like_within);
    if (assertion.relation) line("{} {}", symbol(*assertion.relation), dump(*assertion.bound));
    if (assertion.band_low) line("within {} {}", dump(*assertion.band_low), dump(*assertion.band_high));
    optional("give", assertion.give);
  }

  void design(const DesignDecl& design) {
    line("design");
    ++depth_;
    for (const DesignKindBlock& block : design.kinds) {
      line("{}", block.kind.name);
      ++depth_;
      for (const DesignSetting& given : block.settings) setting("", given);
      --depth_;
    }
    for (const DesignSetting& given : design.settings) setting("setting ", given);
    --depth_;
  }

  void setting(std::string_view what, const DesignSetting& given) {
    line("{}{} {}", what, given.name.name, dump(*given.value));
    optional("until", given.until);
  }

  void preset(const PresetDecl& preset) {
    line("preset {}", preset.name.name);
    ++depth_;
    doc(preset.doc);
    for (const Assignment& assignment : preset.assignments)
      line("{} = {}", name(assignment.target), dump(*assignment.value));
    for (const OnlyClause& only : preset.only) line("only {} in {}", only.factor.name, dump(*only.levels));
    for (const CriteriaClause& clause : preset.claims)
      line("{} criterion {}", clause.keep ? "keep" : "remove",
           clause.which == CriteriaClause::Which::All         ? "*"
           : clause.which == CriteriaClause::Which::Confident ? "with confidence"
                                                              : names(clause.criteria));
    for (const DesignDecl& merged : preset.designs) design(merged);
    for (const CriterionDecl& added : preset.criteria) criterion(added);
    --depth_;
  }

  void workloadUse(const WorkloadUse& use) {
    line("workload {}{}{}", use.label ? use.label->name + " = " : "", name(use.name), list(use.arguments));
  }

  void factor(const FactorDecl& factor) {
    line("factor {}{} in {}", factor.name.name, factor.parts.empty() ? "" : " of " + names(factor.parts),
         (factor.levels ? dump(*factor.levels) : "all"));
    optional("baseline", factor.baseline);
    optional("when", factor.when);
    ++depth_;
    doc(factor.doc);
    --depth_;
  }

  void study(std::string_view head, const StudyDecl& study) {
    line("{} {}", head, study.name.name);
    ++depth_;
    doc(study.doc);
    for (const NamedUse& use : study.uses) line("use {}", name(use.name));
    for (const ParamDecl& declared : study.params) param(declared);
    for (const WorkloadUse& use : study.workloads) workloadUse(use);
    for (const FactorDecl& declared : study.factors) factor(declared);
    for (const LetDecl& declaration : study.lets) let(declaration);
    for (const RuleDecl& rule : study.rules) constraint(rule);
    for (const MetricDecl& declared : study.metrics) metric(declared);
    for (const MeasureDecl& measure : study.measures) line("measure {}", names(measure.metrics));
    for (const CompareDecl& compare : study.compares) {
      line("compare {} = (call {}{}) over {}", compare.name.name, name(compare.call.callee),
           list(compare.call.arguments), compare.over.empty() ? "*" : names(compare.over));
      optional("where", compare.where);
      optional("against", compare.against);
      if (compare.partial) {
        ++depth_;
        line("partial");
        --depth_;
      }
    }
    for (const ControlDecl& control : study.controls) {
      line("control {}{}", control.name.name, list(control.selectors));
      ++depth_;
      doc(control.doc);
      --depth_;
    }
    for (const CriterionDecl& claimed : study.criteria) criterion(claimed);
    for (const ConfidenceDecl& declared : study.confidences) line("confidence {}", dump(*declared.value));
    for (const ExpectedDecl& stated : study.expected) {
      line("expected {} = {}", stated.name.name, dump(*stated.value));
      optional("noise", stated.noise);
    }
    for (const DesignDecl& planned : study.designs) design(planned);
    for (const TableDecl& table : study.tables)
      line("table {}{}{}", table.subject.name, table.of.empty() ? "" : " of " + names(table.of),
           table.by.empty() ? "" : " by " + names(table.by));
    for (const PlotDecl& plot : study.plots)
      line("plot {} over {}{}", plot.subject.name, plot.over.name, plot.by.empty() ? "" : " by " + names(plot.by));
    for (const PresetDecl& declared : study.presets) preset(declared);
    --depth_;
  }

  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string dump(const Expr& expr) { return std::visit(ExprDumper{}, expr.node); }

std::string dump(const Module& module) {
  ModuleDumper dumper;
  dumper.module(module);
  return dumper.take();
}

}  // namespace expc::ast
