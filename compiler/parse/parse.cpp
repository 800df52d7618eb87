// Reads texts in, and is the last of the tree's readers: studies, presets, whole files and the texts of the command
// line. Transform builds the abstract tree in one pass over the concrete one; each read() fills one kind of node. The
// grammar accepts a little more than the language in places where ANTLR's own message would be unclear; the functions
// here report that rest.

#include "compiler/parse/parse.h"

#include <llvm/Support/ConvertUTF.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/transform_declarations.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(FileTooLarge, "this file is larger than {0} bytes, the most that is read");
EXPC_DIAGNOSTIC(InvalidUtf8, "byte {0} (0x{1:02X}) is not UTF-8; save the file as UTF-8");
EXPC_DIAGNOSTIC(NulByte, "byte {0} is zero: this is not a text file");
EXPC_DIAGNOSTIC(QuantifierPlace,
                "a quantifier after '{0}' needs parentheses, because it extends to the end of its claim");

std::optional<source::FileId> load(source::SourceManager& sources, std::string name, std::string text,
                                   diag::Emitter& emitter) {
  if (text.size() > kMaxFileSize) {
    // The diagnostic needs a file to name, so the file is added without its text.
    source::FileId file = sources.add(std::move(name), "");
    return emitter.emit({file, 0, 0}, FileTooLarge, kMaxFileSize);
  }
  source::FileId file = sources.add(std::move(name), std::move(text));
  std::string_view all = sources.text(file);
  const auto* begin = reinterpret_cast<const llvm::UTF8*>(all.data());
  const auto* legal = begin;
  // `legal` moves to the first byte that is not UTF-8, or to the end. The earlier of the two faults is reported.
  llvm::isLegalUTF8String(&legal, begin + all.size());
  const size_t at = std::min(all.find('\0'), size_t(legal - begin));
  if (at == all.size()) return file;
  const source::Range here{file, uint32_t(at), uint32_t(at + 1)};
  if (all[at] == '\0')
    emitter.emit(here, NulByte, at);
  else
    emitter.emit(here, InvalidUtf8, at, static_cast<unsigned char>(all[at]));
  return std::nullopt;
}

/// The last reader of the chain (transform_tree.h): it has the functions of all the others.
struct Transform : Declarations {
  using Declarations::Declarations;
  using Declarations::read;

  /// The module of a whole file: each declaration goes to the list of its kind, in the order of the text.
  ast::Module module() {
    ast::Module out;
    out.file = tree.file;
    if (tree.nodes.empty()) return out;
    // Each statement has one kind, so exactly one of these adds it.
    for (uint32_t declaration : statements(0, Rule::Declaration)) {
      const auto take = taking(*this, declaration);
      take(Rule::ImportDecl, out.imports);
      take(Rule::EnumDecl, out.enums);
      take(Rule::UnitDecl, out.units);
      take(Rule::LetDecl, out.lets);
      take(Rule::MetricDecl, out.metrics);
      take(Rule::WorkloadDecl, out.workloads);
      take(Rule::ServiceDecl, out.services);
      take(Rule::SystemDecl, out.systems);
      take(Rule::ReferenceDecl, out.references);
      take(Rule::ConfidenceDecl, out.confidences);
      take(Rule::DesignDecl, out.designs);
      take(Rule::PresetDecl, out.presets);
      for (const ast::CompareDecl& compare : std::exchange(stated, {}))
        reporter.syntaxError(compare.range, "the name of a comparison, because this preset belongs to no study");
      take(Rule::PartDecl, out.parts);
      take(Rule::StudyDecl, out.studies);
    }
    return out;
  }

  /// The expression of a text of the command line; null if it held none.
  ast::ExprPtr wholeValue() { return tree.nodes.empty() || broken(0) ? nullptr : expressionIn(0, Rule::Value); }

  /// The assignments of a text of the command line; empty if it holds anything else.
  std::vector<ast::Assignment> wholeAssignments() {
    std::vector<ast::Assignment> out;
    if (tree.nodes.empty() || broken(0)) return out;
    for (uint32_t one : children(0))
      if (isRule(one, Rule::Assigned) || isRule(one, Rule::Assignment)) out.push_back(assignment(one));
    return out;
  }

  // ---- studies

  void read(uint32_t index, ast::StudyDecl& out) {
    for (uint32_t item : statements(child(index, Rule::StudyBody), Rule::StudyItem)) {
      const auto take = taking(*this, item);
      take(Rule::UseDecl, out.uses);
      take(Rule::WorkloadUse, out.workloads);
      take(Rule::ParamDecl, out.params);
      take(Rule::FactorDecl, out.factors);
      take(Rule::LetDecl, out.lets);
      take(Rule::RuleDecl, out.rules);
      // `metric total = sum(wall) over program` is read as a comparison without a baseline.
      if (isRule(item, Rule::MetricDecl) && child(item, Rule::OverFactors))
        add(*this, item, out.compares);
      else
        take(Rule::MetricDecl, out.metrics);
      take(Rule::MeasureDecl, out.measures);
      take(Rule::CompareDecl, out.compares);
      take(Rule::ControlDecl, out.controls);
      take(Rule::CriterionDecl, out.criteria);
      take(Rule::ConfidenceDecl, out.confidences);
      take(Rule::ExpectedDecl, out.expected);
      take(Rule::DesignDecl, out.designs);
      take(Rule::TableDecl, out.tables);
      take(Rule::PlotDecl, out.plots);
      take(Rule::PresetDecl, out.presets);
    }
    // `criterion x: a > 1  confidence 95%` without `with` parses as two statements. On one line it is a slip, since a
    // confidence of the study stands on a line of its own.
    for (const ast::ConfidenceDecl& confidence : out.confidences)
      for (const ast::CriterionDecl& criterion : out.criteria)
        if (!criterion.confidence && criterion.range.end < confidence.range.begin &&
            reporter.text(criterion.range.end, confidence.range.begin).find_first_not_of(" \t") ==
                std::string_view::npos)
          reporter.syntaxError(confidence.range, "'with' before the confidence of a criterion");
    for (ast::CompareDecl& compare : std::exchange(stated, {})) out.compares.push_back(std::move(compare));
    // A comparison whose right side is no call was reported by its read(), and later phases rely on the call.
    std::erase_if(out.compares, [](const ast::CompareDecl& compare) { return compare.call.callee.parts.empty(); });
  }

  void read(uint32_t index, ast::MeasureDecl& out) { out.metrics = identifiers(child(index, Rule::Words)); }

  /// `table SUBJECT [of METRICS | by FACTORS]`.
  void read(uint32_t index, ast::TableDecl& out) {
    out.subject = identifier(child(index, Rule::Word));
    if (const uint32_t metrics = child(index, Rule::Words)) out.of = identifiers(metrics);
    out.by = factorNames(index);
  }

  /// `plot SUBJECT over X [by FACTORS]`.
  void read(uint32_t index, ast::PlotDecl& out) {
    out.subject = identifier(child(index, Rule::Word));
    out.over = factorName(child(index, Rule::FactorName));
    out.by = factorNames(index);
  }

  /// `workload NAME(…)` or `workload LABEL = NAME(…)`. The grammar reads a dotted name in both places.
  void read(uint32_t index, ast::WorkloadUse& out) {
    const std::vector<uint32_t> names = children(index, Rule::Name);
    out.name = qualifiedName(names.back());
    if (names.size() == 2) {
      ast::QualifiedName label = qualifiedName(names[0]);
      if (label.parts.size() == 1)
        out.label = std::move(label.parts[0]);
      else
        reporter.syntaxError(label.range, "a single name before '='");
    }
    int depth = 0;
    if (const uint32_t given = child(index, Rule::Arguments)) out.arguments = arguments(given, depth);
  }

  /// The levels of a factor or of `only`. A record is a value, not a set of levels, and is reported.
  ast::ExprPtr levels(uint32_t value) {
    ast::ExprPtr out = expression(value);
    if (out->as<ast::RecordExpr>())
      reporter.syntaxError(out->range, "a level set, such as { a, b } or 1..4, after 'in'");
    return out;
  }

  /// `factor NAME in LEVELS [baseline LEVEL] [when CONDITION]`; NAME may be the parts of a lockstep factor in brackets.
  void read(uint32_t index, ast::FactorDecl& out) {
    out.name = factorName(child(index, Rule::FactorName), &out.parts);
    if (const auto values = children(index, Rule::Value); !values.empty()) out.levels = levels(values[0]);
    for (uint32_t clause : children(index, Rule::FactorClause)) {
      const bool is_baseline = has(clause, Token::Baseline);
      // The grammar takes the clauses in any order and number; each may be given once.
      ast::ExprPtr& place = is_baseline ? out.baseline : out.when;
      if (place)
        duplicate(clause, is_baseline ? "the baseline" : "'when'", place->range);
      else
        place = expressionIn(clause, is_baseline ? Rule::Value : Rule::Condition);
    }
  }

  /// `compare NAME = CALL over FACTORS where CONDITION against LEVEL partial`. The grammar reads any condition before
  /// `over`, so that the message can show a call. An aggregate may be called a `metric`.
  void read(uint32_t index, ast::CompareDecl& out) {
    const ast::ExprPtr value = expressionIn(index, isRule(index, Rule::MetricDecl) ? Rule::Value : Rule::Condition);
    auto* call = value->as<ast::CallExpr>();
    if (!call) return reporter.syntaxError(value->range, "a call such as speedup(step_time) after '='");
    for (const Rule kept : {Rule::RefinedType, Rule::MetricTrait, Rule::MetricSource})
      if (const uint32_t part = child(index, kept))
        reporter.syntaxError(range(part), "no type, direction or source, which an aggregate keeps");
    out.call_range = value->range;
    out.call = *call;
    const uint32_t over = child(index, Rule::OverFactors);
    out.over = factorNames(over);
    out.over_range = range(over);
    out.where = expressionIn(over, Rule::Condition);
    out.against = isRule(index, Rule::MetricDecl) ? nullptr : expressionIn(index, Rule::Value);
    const uint32_t allow = child(index, Token::Allow);
    out.partial = has(index, Token::Partial) || allow;
    if (!allow) return;
    const uint32_t code = children(index, Rule::Word).back();
    const source::Range written = source::join(range(allow), range(code));
    if (text(code) == diag::code(diag::Kind::SomeWithoutPartner))
      reporter.deprecated(written, "'allow W0406'", "write 'partial'").fix(written, "partial");
    else
      reporter.syntaxError(written, "'partial', which accepts configurations without a partner");
  }

  /// `control NAME = [FACTOR = LEVEL, …]`: the point runs twice in every block, which shows the noise.
  void read(uint32_t index, ast::ControlDecl& out) {
    int depth = 0;
    for (ast::CallArgument& selector : arguments(child(index, Rule::Selectors), depth)) {
      if (selector.name)
        out.selectors.push_back(std::move(selector));
      else
        reporter.syntaxError(selector.value->range,
                             "the name of a factor and '=' before the level, as in [method = lora]");
    }
  }

  /// A design's settings, and its blocks of settings for one kind of trial: `timed { repeat 10 }`.
  void read(uint32_t index, ast::DesignDecl& out) {
    if (const uint32_t shape = child(index, Rule::Word); shape && text(shape) == "full")
      reporter.deprecated(range(shape), "'design full'", "write 'design'")
          .fix({tree.file, node(child(index, Token::Design)).end, node(shape).end}, "");
    else if (shape)
      reporter.syntaxError(range(shape), "'{' after 'design'");
    for (uint32_t item : statements(child(index, Rule::DesignBody), Rule::DesignItem)) {
      const uint32_t body = child(item, Rule::KindBody);
      if (!body) {
        add(*this, item, out.settings);
        continue;
      }
      ast::DesignKindBlock& block = out.kinds.emplace_back();
      block.range = range(item);
      block.kind = identifier(child(item, Rule::Word));
      for (uint32_t setting : statements(body, Rule::Setting)) add(*this, setting, block.settings);
    }
  }

  /// `NAME VALUE [until CONDITION | looks at N, M]`; `index` is a setting, or an item of a design without a block.
  void read(uint32_t index, ast::DesignSetting& out) {
    const std::vector<uint32_t> values = children(child(index, Rule::SettingValue), Rule::Condition);
    out.value = expression(values[0]);
    if (values.size() == 2) out.until = expression(values[1]);
    const uint32_t looks = child(child(index, Rule::SettingValue), Rule::LooksClause);
    if (!looks) return;
    for (uint32_t look : children(looks, Rule::Sum)) out.looks.push_back(expression(look));
  }

  /// `criterion NAME: CLAIM [where CONDITION] [with confidence P] [always]`.
  void read(uint32_t index, ast::CriterionDecl& out) {
    out.claim = claim(child(index, Rule::Claim));
    if (ast::ExprPtr condition = expressionIn(index, Rule::Condition)) narrow(std::move(condition), out.claim);
    out.confidence = expressionIn(index, Rule::Sum);
    if (const uint32_t always = child(index, Token::Always)) out.always = range(always);
  }

  /// Gives the condition behind a claim to its last quantifier: `infeasible where n > 4` is about all such points. A
  /// claim of several parts does not tell which of them is narrowed.
  void narrow(ast::ExprPtr condition, ast::Claim& claim) {
    using enum ast::QuantifierKind;
    auto& quantifiers = claim.quantifiers;
    if (claim.kind != ast::Claim::Kind::Assertion || (!quantifiers.empty() && quantifiers.back().where))
      return reporter.syntaxError(condition->range, "the condition before the claim: forall where a > 1: …");
    if (quantifiers.empty()) quantifiers.push_back({condition->range, ForAll, nullptr, true, {}, nullptr});
    quantifiers.back().where = std::move(condition);
  }

  void read(uint32_t index, ast::ConfidenceDecl& out) { out.value = expressionIn(index, Rule::Sum); }

  /// `expected NAME = VALUE [noise SHARE]`.
  void read(uint32_t index, ast::ExpectedDecl& out) {
    const std::vector<uint32_t> sums = children(index, Rule::Sum);
    out.value = expression(sums[0]);
    if (sums.size() > 1) out.noise = expression(sums[1]);
  }

  /// `forall FACTORS [where CONDITION]`, or `exists` or `at least N of` likewise.
  void read(uint32_t index, ast::Quantifier& out) {
    using enum ast::QuantifierKind;
    out.kind = has(index, Token::ForAll) ? ForAll : has(index, Token::Exists) ? Exists : AtLeast;
    out.least = expressionIn(index, Rule::Sum);
    out.factors = factorNames(index);
    out.where = expressionIn(index, Rule::Condition);
    // `forall *` and `forall where COND` range over all factors.
    out.all = out.factors.empty();
    if (out.all && !has(index, Token::Star) && !out.where)
      reporter.syntaxError(out.range, fmt::format("the names of factors, '*' or 'where' after '{}'", text(index)));
  }

  /// Builds a claim. `and` binds more tightly than `or`; the quantifiers in front reach to the end.
  ast::Claim claim(uint32_t index) {
    using Kind = ast::Claim::Kind;
    const std::vector<uint32_t> clauses = children(index, Rule::Clause), all = children(index);
    std::vector<ast::Claim> branches, conjunct;
    for (size_t at = 0; at < clauses.size(); ++at) {
      if (at > 0 && child(clauses[at], Rule::Quantifier)) needsParentheses(index, clauses, at);
      if (at > 0 && isToken(all[2 * at - 1], Token::Or))
        branches.push_back(joined(Kind::And, std::exchange(conjunct, {})));
      conjunct.push_back(assertion(child(clauses[at], Rule::Assertion)));
    }
    branches.push_back(joined(Kind::And, std::move(conjunct)));
    ast::Claim out = joined(Kind::Or, std::move(branches));
    std::vector<ast::Quantifier> quantifiers;
    for (uint32_t part : children(clauses[0], Rule::Quantifier)) add(*this, part, quantifiers);
    std::ranges::move(out.quantifiers, std::back_inserter(quantifiers));
    out.quantifiers = std::move(quantifiers);
    out.range = range(index);
    return out;
  }

  static ast::Claim joined(ast::Claim::Kind kind, std::vector<ast::Claim> parts) {
    if (parts.size() == 1) return std::move(parts[0]);
    ast::Claim out;
    out.kind = kind;
    out.range = source::join(parts.front().range, parts.back().range);
    out.parts = std::move(parts);
    return out;
  }

  /// Reports a quantifier behind `and` or `or`. If the claim begins with one over the same factors, both parts are
  /// meant to stand alone.
  void needsParentheses(uint32_t index, const std::vector<uint32_t>& clauses, size_t at) {
    const uint32_t quantifier = child(clauses[at], Rule::Quantifier), before = child(clauses[0], Rule::Quantifier);
    const bool both = before && text(before) == text(quantifier);
    const source::Range whole = range(index);
    const uint32_t head_end = range(clauses[at - 1]).end, tail = range(clauses[at]).begin;
    const std::string_view head = reporter.text(whole.begin, head_end);
    reporter.emit(range(quantifier), QuantifierPlace, text(children(index)[2 * at - 1]))
        .fix(whole, fmt::format("{}{}({})", both ? fmt::format("({})", head) : std::string(head),
                                reporter.text(head_end, tail), reporter.text(tail, whole.end)));
  }

  /// Builds an assertion, or the claim in its parentheses. The form of a bound is told by the number of sums: one with
  /// a name is `like REFERENCE` (or none, without a tolerance), one is a bound, two a band, three a band with `give`.
  ast::Claim assertion(uint32_t index) {
    if (const uint32_t group = child(index, Rule::Claim)) return claim(group);
    ast::Claim out;
    out.range = range(index);
    ast::Assertion& assertion = out.assertion;
    assertion.range = out.range;
    assertion.infeasible = has(index, Token::Infeasible);
    if (assertion.infeasible) return out;
    assertion.subject = expressionIn(index, Rule::Subject);
    assertion.absent = has(index, Token::Absent);
    if (assertion.absent) return out;
    if (has(index, Token::Over)) state(index, *assertion.subject);
    const uint32_t bound = child(index, Rule::Bound);
    const std::vector<uint32_t> sums = children(bound, Rule::Sum);
    if (const uint32_t reference = child(bound, Rule::Name)) {
      assertion.like = qualifiedName(reference);
      if (!sums.empty()) assertion.like_within = expression(sums[0]);
    } else if (sums.size() > 1) {
      assertion.band_low = expression(sums[0]);
      assertion.band_high = expression(sums[1]);
      if (sums.size() == 3) assertion.give = expression(sums[2]);
    } else {
      assertion.bound = expression(sums[0]);
      assertion.relation = operatorOf(node(node(child(bound, Rule::Relation)).child).token);
    }
    return out;
  }

  /// The comparisons that claims of the study state themselves.
  std::vector<ast::CompareDecl> stated = {};

  /// The words of a range without those of another, spaced as the formatter does, whatever the author's spaces are.
  std::string spaced(source::Range of, std::optional<source::Range> without) const {
    std::string text;
    for (const Node& leaf : tree.nodes) {
      const bool left_out = without && leaf.begin >= without->begin && leaf.end <= without->end;
      if (!leaf.is_token || leaf.begin < of.begin || leaf.end > of.end || left_out) continue;
      const std::string_view word = sources.text({of.file, leaf.begin, leaf.end});
      const bool opens = text.empty() || text.ends_with('(') || text.ends_with('[') || text.ends_with('.');
      if (!opens && (word.size() > 1 || std::string_view("()[],.").find(word) == std::string_view::npos)) text += ' ';
      text += word;
    }
    return text;
  }

  /// Makes a comparison of `geomean(gain) over program` in a claim, with its text as its name, and lets the subject be
  /// that name. Levels that the call or its argument selects are those of the result: `geomean(gain[flag = "O3"]) over
  /// program`.
  void state(uint32_t index, ast::Expr& subject) {
    std::vector<ast::CallArgument> selectors;
    source::Range selected;
    // `at` without its selectors.
    const auto base = [&](const ast::ExprPtr& at) {
      auto* chosen = at->as<ast::IndexExpr>();
      if (!chosen || !selectors.empty()) return at;
      selectors = chosen->selectors;
      selected = {at->range.file, chosen->base->range.end, at->range.end};
      return chosen->base;
    };
    const ast::ExprPtr bare = base(std::make_shared<ast::Expr>(subject));
    auto* call = std::get_if<ast::CallExpr>(&bare->node);
    if (!call) return reporter.syntaxError(subject.range, "a call such as geomean(gain) before 'over'");
    if (!call->arguments.empty()) call->arguments[0].value = base(call->arguments[0].value);
    ast::CompareDecl& made = stated.emplace_back();
    made.stated = true;
    made.call = *call;
    made.call_range = bare->range;
    made.over = factorNames(index);
    made.over_range = range(made.over.empty() ? child(index, Token::Star) : child(index, Rule::FactorNames));
    made.range = made.name.range = source::join(subject.range, made.over_range);
    made.name.name = spaced(made.range, selectors.empty() ? std::nullopt : std::optional(selected));
    subject.node = ast::NameExpr{{{made.name}, made.range}};
    if (selectors.empty()) return;
    subject.node = ast::IndexExpr{std::make_shared<ast::Expr>(subject), std::move(selectors)};
  }

  // ---- presets

  /// A preset changes the study around it: levels, criteria, the design, and arguments of the workload.
  void read(uint32_t index, ast::PresetDecl& out) {
    for (uint32_t item : statements(child(index, Rule::PresetBody), Rule::PresetItem)) {
      const auto take = taking(*this, item);
      take(Rule::OnlyClause, out.only);
      take(Rule::CriteriaClause, out.claims);
      take(Rule::CriterionDecl, out.criteria);
      // `design { … }` merges into the study's; `design.timed.repeat = 20` sets one value of it.
      const bool block = child(item, Rule::DesignBody);
      if (block) add(*this, item, out.designs);
      if (isRule(item, Rule::Assignment) || (isRule(item, Rule::PresetDesign) && !block))
        out.assignments.push_back(assignment(item));
    }
  }

  void read(uint32_t index, ast::OnlyClause& out) {
    out.factor = factorName(child(index, Rule::FactorName));
    out.levels = levels(child(index, Rule::Value));
  }

  /// `remove criterion …` or `keep criterion …`: all (`*`), those `with confidence`, or by name.
  void read(uint32_t index, ast::CriteriaClause& out) {
    using Which = ast::CriteriaClause::Which;
    out.keep = has(index, Token::Keep);
    out.which = has(index, Token::Star) ? Which::All : has(index, Token::With) ? Which::Confident : Which::Named;
    if (const uint32_t words = child(index, Rule::Words)) out.criteria = identifiers(words);
    // `keep criterion *` would change nothing, so it is probably a slip for `remove`.
    if (out.keep && out.which == Which::All)
      reporter.syntaxError(out.range, "'remove criterion *', or the names of criteria to keep");
  }
};

ast::Module parse(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  Reporter reporter(sources, emitter, file);
  const Tree tree = parseTree(sources, file, Rule::File, reporter);
  return Transform(sources, tree, reporter).module();
}

namespace {

/// Parses a text of the command line, whose rule is `start`, and lets `read` build the result. Returns an empty result
/// after any error, since a text of the command line is used whole or not at all.
template <typename Read>
auto readWhole(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter, Rule start,
               Read read) {
  Reporter reporter(sources, emitter, file);
  const size_t before = emitter.errors();
  const Tree tree = parseTree(sources, file, start, reporter);
  Transform transform(sources, tree, reporter);
  auto out = read(transform);
  return emitter.errors() == before ? std::move(out) : decltype(out)();
}

}  // namespace

ast::ExprPtr parseExpression(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  return readWhole(sources, file, emitter, Rule::ValueFile, [](Transform& text) { return text.wholeValue(); });
}

std::optional<Setting> parseSetting(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  return readWhole(sources, file, emitter, Rule::SettingFile, [](Transform& text) -> std::optional<Setting> {
    std::vector<ast::Assignment> all = text.wholeAssignments();
    if (all.empty()) return std::nullopt;
    // A value in the tree besides the assignment is the rest after a comma.
    return Setting{std::move(all.front()), text.wholeValue() != nullptr};
  });
}

std::vector<ast::Assignment> parsePoint(const source::SourceManager& sources, source::FileId file,
                                        diag::Emitter& emitter) {
  return readWhole(sources, file, emitter, Rule::PointFile, [](Transform& text) { return text.wholeAssignments(); });
}

source::Range writtenRange(const source::SourceManager& sources, source::Range literal, size_t begin, size_t end) {
  const std::string_view written = sources.text(literal);
  // Reads the literal again up to `offset` bytes of its value; an escape is one step in the source and may be several
  // bytes of the value.
  const auto placeOf = [&](size_t offset) {
    std::string read;
    // Behind the quote.
    size_t at = 1;
    while (read.size() < offset && at < written.size()) {
      const size_t length = written[at] == '\\' ? TreeReader::readEscape(written.substr(at), read) : 0;
      if (length == 0) read += written[at];
      at += std::max<size_t>(length, 1);
    }
    return literal.begin + uint32_t(at);
  };
  return {literal.file, placeOf(begin), placeOf(end)};
}

}  // namespace expc::parse
