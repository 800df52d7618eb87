// Completion. Three kinds of proposals are added up: names, by the innermost rule that the parser was reading (the
// table of slots); words with which the statement may go on, which are those that the grammar expects next; and words
// that begin a new statement. completion_places.h collects what can be proposed and makes the items.
//
// To support a new construct, add its slots to the table here and its words to compiler/parse/words.cpp.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "compiler/editor/completion_places.h"
#include "compiler/editor/features.h"
#include "compiler/parse/cst.h"

namespace expc::editor {

using parse::Rule;

namespace {

/// The proposals for one place.
class Completion : Places {
 public:
  using Places::Places;

  json::Value run() {
    // Comments and texts get no proposals, nor do the names in an enum, which are the user's to choose. number() and
    // member() answer alone if they apply.
    if (context_.inside != Context::Inside::Code || number() || member() || context_.in_enum) return std::move(items_);
    names();
    follow();
    // Statements have no separator, so a new line may go on with the statement above it or begin one: both are offered.
    // Items that begin with a name may also share a line.
    const bool item_ended = parse::isHead(context_.block, Token::Identifier) && afterOperand() &&
                            next(Token::Identifier) && (size() > 1 || context_.block == Rule::ReferenceBody);
    if (context_.brackets == 0 && (context_.statement.empty() || context_.line_start || item_ended)) heads();
    return std::move(items_);
  }

 private:
  /// How far behind its token a slot reaches. List: to the items of a list. Operands: to wherever an operand may begin,
  /// in brackets too. Condition: also to where a condition goes on with `and`, `or`, `in` or `not`.
  enum class Reach { List, Operands, Condition };
  /// The proposals behind tokens of rules, outside of brackets. EndOfFile stands for the beginning of a rule.
  struct Slot {
    void (*offer)(Completion&);
    Reach reach;
    std::vector<std::pair<Rule, Token>> places;
  };

  /// Slots of single names and lists of them.
  static const std::vector<Slot>& namesInLists() {
    using enum Token;
    using C = Completion;
    using enum Reach;
    static const std::vector<Slot> kSlots = {
        {[](C& c) { c.modules("std."); }, List, {{Rule::ImportDecl, Import}}},
        {[](C& c) { c.types(); }, List, {{Rule::Type, EndOfFile}, {Rule::Type, Slash}}},
        {[](C& c) { c.values(c.typeBehindColon()); }, List, {{Rule::ParamDecl, Assign}}},
        {[](C& c) {
           c.propose("strong scaling when", kKeyword, "", "Where more of it share the same work, as of devices.");
         },
         List,
         {{Rule::ParamTrait, With}}},
        {[](C& c) {
           c.words(Role::Taken, kFunction);
           c.words(Role::Source, kFunction);
         },
         List,
         {{Rule::MetricDecl, From}}},
        {[](C& c) { c.words(Role::Source, kFunction); }, List, {{Rule::ParamDecl, From}}},
        {[](C& c) { c.metrics(false); },
         List,
         {{Rule::EstimateDecl, Estimate}, {Rule::MeasureDecl, Measure}, {Rule::TableDecl, Of}}},
        {[](C& c) { c.imported(SymbolKind::Workload); },
         List,
         {{Rule::WorkloadUse, Workload}, {Rule::WorkloadUse, Assign}}},
        {[](C& c) { c.imported(SymbolKind::Service); }, List, {{Rule::ServiceUse, Service}}},
        {[](C& c) { c.imported(SymbolKind::Part); }, List, {{Rule::UseDecl, Use}}},
        {[](C& c) { c.imported(SymbolKind::Reference); }, List, {{Rule::Bound, Like}}},
        {[](C& c) { c.words({"http", "tcp", "regex", "file"}); }, List, {{Rule::ReadyDecl, Ready}}},
        {[](C& c) {
           c.metrics(true);
           c.declared(SymbolKind::Criterion, c.study_);
         },
         List,
         {{Rule::ExpectedDecl, Expected}}},
        {[](C& c) { c.newFactors(); }, List, {{Rule::FactorDecl, Factor}}},
        {[](C& c) { c.factors(); },
         List,
         {{Rule::CompareDecl, Over},
          {Rule::MetricDecl, Over},
          {Rule::Quantifier, ForAll},
          {Rule::Quantifier, Exists},
          {Rule::Quantifier, Of},
          {Rule::TableDecl, By},
          {Rule::PlotDecl, By},
          {Rule::OnlyClause, Only}}},
        {[](C& c) { c.metrics(true); },
         List,
         {{Rule::CriterionDecl, Colon},
          {Rule::Claim, And},
          {Rule::Claim, Or},
          {Rule::Assertion, LeftParen},
          {Rule::PlotDecl, Plot}}},
        {[](C& c) {
           c.metrics(true);
           c.words(Role::Description, kKeyword);
         },
         List,
         {{Rule::TableDecl, Table}}},
        {[](C& c) {
           c.factors();
           c.metrics(false);
           c.words(Role::Axis, kKeyword);
         },
         List,
         {{Rule::PlotDecl, Over}}},
        {[](C& c) { c.declared(SymbolKind::Criterion, c.study_); }, List, {{Rule::CriteriaClause, Criterion}}}};
    return kSlots;
  }

  /// Slots of values and expressions.
  static const std::vector<Slot>& valuesAndExpressions() {
    using enum Token;
    using C = Completion;
    using enum Reach;
    static const std::vector<Slot> kSlots = {
        {[](C& c) { c.condition(false); },
         Condition,
         {{Rule::LetDecl, Assign},
          {Rule::ParamDecl, When},
          {Rule::ParamTrait, When},
          {Rule::EstimateDecl, Assign},
          {Rule::EstimateDecl, When},
          {Rule::RuleDecl, Require},
          {Rule::RuleDecl, Exclude},
          {Rule::FactorDecl, When},
          {Rule::OverFactors, Where},
          {Rule::Quantifier, Where}}},
        {[](C& c) { c.condition(true); }, Condition, {{Rule::MetricDecl, Assign}}},
        {[](C& c) { c.arguments(); }, Operands, {{Rule::WorkloadUse, LeftParen}}},
        {[](C& c) { c.values(c.typeOf(c.nameBefore(In))); }, Operands, {{Rule::FactorDecl, In}}},
        {[](C& c) {
           const std::vector<std::string> factor = c.nameBefore(In);
           c.direct_ ? c.levelsOf(factor) : c.values(c.typeOf(factor));
         },
         Operands,
         {{Rule::FactorDecl, Baseline}}},
        {[](C& c) {
           if (c.kindAt(0) == Factor) c.parameters();
         },
         Operands,
         {{Rule::FactorName, LeftParen}}},
        {[](C& c) { c.comparison(); }, Operands, {{Rule::CompareDecl, Assign}}},
        {[](C& c) {
           c.levelsOf(c.nameBefore(Against));
           c.words({"previous"});
         },
         List,
         {{Rule::CompareDecl, Against}}},
        {[](C& c) { c.selectors(); }, Operands, {{Rule::Selectors, LeftBracket}}},
        {[](C& c) { c.lets(); },
         List,
         {{Rule::Bound, Equal},
          {Rule::Bound, Less},
          {Rule::Bound, LessEqual},
          {Rule::Bound, Greater},
          {Rule::Bound, GreaterEqual}}},
        {[](C& c) {
           if (c.direct_) c.words({"half_width"}, kFunction);
           if (c.context_.brackets > 0) c.metrics(true);
         },
         Operands,
         {{Rule::SettingValue, Until}}},
        {[](C& c) { c.levelsOf(c.nameBefore(In)); }, Operands, {{Rule::OnlyClause, In}}},
        {[](C& c) { c.values(c.typeOf({std::string(c.textAt(0))})); }, List, {{Rule::Assignment, Assign}}},
        {[](C& c) { c.words({"column"}, kFunction); }, Operands, {{Rule::ReferenceItem, Assign}}}};
    return kSlots;
  }

  /// The slot behind `after` in `rule`; null if names are not proposed there.
  static const Slot* slotOf(Rule rule, Token after) {
    for (const auto* slots : {&namesInLists(), &valuesAndExpressions()})
      for (const Slot& slot : *slots)
        if (is_contained(slot.places, std::pair(rule, after))) return &slot;
    return nullptr;
  }

  /// Whether the grammar lets this token come next.
  bool next(Token token) const { return is_contained(context_.expected, token); }

  /// Proposes an operand of an expression.
  void condition(bool with_metrics) {
    // Behind a comparison with a name of enum type only its levels make sense, in braces behind `in`.
    const auto open = openBracket();
    const bool members = open && *open > 0 && kindAt(*open) == Token::LeftBrace && kindAt(*open - 1) == Token::In;
    const size_t sign = members ? *open - 1 : size() - 1;
    const bool negated = kindAt(sign) == Token::In && kindAt(sign - 1) == Token::Not;
    const check::Type type = typeOf(nameBefore(negated ? sign - 1 : sign));
    if (members) return values(type);
    if (type.isEnum() && kindAt(sign) == Token::In) return propose("{ … }", kSnippet, "a set", "", "{ $0 }");
    if (type.isEnum() && kindAt(sign) >= Token::Equal && kindAt(sign) <= Token::Greater) return values(type);
    if (with_metrics) metrics(false);
    parameters();
    lets();
    words({"not", "true", "false"});
    const bool rule = kindAt(0) == Token::Require || kindAt(0) == Token::Exclude;
    if (rule) propose("system", kModule, "the machine", "Marks points that a machine cannot run.");
    words(Role::Choice, kFunction);
    if (with_metrics) words({"epochs_to"}, kFunction);
    if (with_metrics) words(Role::Taken, kFunction);
  }

  /// Proposes the function of a comparison, or its arguments.
  void comparison() {
    const auto open = openBracket();
    if (!open) return words(Role::Comparison, kFunction);
    if (lastKind() == Token::Comma && textAt(*open - 1) == "efficiency") return words(Role::Scaling, kKeyword);
    metrics(true);
  }

  /// Proposes arguments of `workload NAME(PARAMETER = VALUE, …)`: parameters that have no value yet, or values of one.
  void arguments() {
    // The first bracket of the statement is the one behind the workload's name.
    const size_t open =
        std::ranges::find(context_.statement, Token::LeftParen, &parse::LexedToken::kind) - context_.statement.begin();
    const bool dotted = kindAt(open - 2) == Token::Dot;
    const auto found =
        symbols().find(SymbolKind::Workload, textAt(open - 1), dotted ? importedAs(textAt(open - 3)) : file_);
    if (!found || openBracket() != open) return;  // inside the brackets of a value: `data = mnist(`
    workloads_ = {*found};
    if (lastKind() == Token::Assign) return values(typeOf({std::string(last(1))}));
    // A parameter with a value is not proposed again.
    std::vector<std::string> given;
    for (size_t at = open; at < size(); ++at)
      if (kindAt(at) == Token::Assign) given.emplace_back(textAt(at - 1));
    if (lastKind() == Token::Comma || open + 1 == size()) parameters(given);
  }

  /// Proposes names for a new factor: parameters that the study neither varies nor fixes.
  void newFactors() {
    std::vector<std::string> without;
    if (const ast::StudyDecl* around = declaredStudy()) {
      for (const ast::FactorDecl& factor : around->factors) without.push_back(factor.name.name);
      for (const ast::WorkloadUse& use : around->workloads)
        for (const ast::CallArgument& argument : use.arguments)
          if (argument.name) without.push_back(argument.name->name);
    }
    parameters(without);
  }

  /// Proposes factors or levels in `[FACTOR = LEVEL, …]`.
  void selectors() {
    if (lastKind() == Token::Assign) return levelsOf(nameBefore(size() - 1));
    if (lastKind() == Token::LeftBracket || lastKind() == Token::Comma) factors();
  }

  /// Proposes names, by the innermost rule that has a slot for the place. The last token of the rule outside of
  /// brackets that has a slot decides; `direct_` says whether the place is right behind it or behind a comma of its
  /// list.
  void names() {
    for (const auto& [rule, begin] : context_.rules) {
      if (parse::isBlock(rule)) return;
      const Slot* slot = slotOf(rule, Token::EndOfFile);
      direct_ = begin >= context_.word.begin;
      unsigned depth = 0;
      // Finds the last token of this rule, outside of brackets, that has a slot. `depth` is the nesting at the place.
      for (size_t at = 0; at < size(); ++at) {
        if (context_.statement[at].range.begin < begin) continue;
        if (parse::closes(kindAt(at)) && depth > 0) --depth;
        if (const Slot* found = depth == 0 ? slotOf(rule, kindAt(at)) : nullptr) {
          slot = found;
          direct_ = at + 1 == size();
        }
        if (parse::opens(kindAt(at))) ++depth;
      }
      direct_ |= depth == 0 && lastKind() == Token::Comma;
      // A slot of reach List counts right behind its token or a comma only; the rule around may have one that counts
      // here.
      if (!slot || (!direct_ && slot->reach == Reach::List)) continue;
      // Behind an operand none can begin; a condition may go on with an operator.
      if (direct_ || !afterOperand()) return slot->offer(*this);
      if (slot->reach == Reach::Condition) words({"and", "or", "in", "not"});
      return;
    }
  }

  /// Proposes words with which the statement goes on: those that the grammar lets come next. Where any name may stand,
  /// words that may be names themselves are left out.
  void follow() {
    if (context_.statement.empty()) return;
    if (context_.expected.size() == 1)
      if (const words::Word* only = words::find(parse::spelling(context_.expected[0]))) word(*only, kKeyword);
    const bool name = next(Token::Identifier);
    if (kindAt(0) == Token::Criterion && next(Token::And)) words({"and", "or"});
    if (next(Token::AtLeast)) propose("at least", kKeyword, "", "At least so many must hold.", "at least ${1:2} of $0");
    for (const Token token : context_.expected) {
      const words::Word* found = words::find(Role::Clause, parse::spelling(token));
      // `in` after an operand is proposed with `and` and `or` by names().
      const bool operation = token == Token::In && next(Token::And);
      if (found && !(name && parse::isWord(token)) && !operation) word(*found, kKeyword);
    }
    // Traits of metrics are names to the grammar, so it cannot tell them.
    const bool trait = kindAt(0) == Token::Metric && size() > 2 && context_.brackets == 0 && name && afterOperand();
    if (trait) words(Role::Trait, kKeyword);
  }

  /// Proposes words that begin a statement of the block.
  void heads() {
    switch (context_.block) {
      case Rule::DesignBody:
        words(Role::Kind, kKeyword);
        return words(Role::Setting, kProperty, words::Design);
      case Rule::KindBody:
        return words(Role::Setting, kProperty, words::Stepped | words::Whole);
      case Rule::SystemBody:
        return words(Role::Property, kProperty);
      case Rule::ReferenceBody:
        for (const ast::StudyDecl& study : root_->ast.studies) addWorkloads(study);
        metrics(false);
        return parameters();
      case Rule::PresetBody:
        parameters();
        [[fallthrough]];
      default:
        words(Role::Head, kKeyword, parse::blockOf(context_.block).words);
    }
  }
};

}  // namespace

json::Value completion(const Query& query) {
  if (!query.analysis.loaded) return json::Array{};
  return Completion(query).run();
}

}  // namespace expc::editor
