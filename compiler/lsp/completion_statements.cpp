// What may be typed next, by the statement that it stands in.

#include "compiler/lsp/completion.h"
#include "stdlib/stdlib.h"

namespace expc::lsp {

using language::Role;
using parse::Token;

void Completion::import() {
  if (size() == 1) {
    for (const std::string_view name : stdlib::names())
      propose("std." + std::string(name), Kind::Module, "built in", "");
  }
}

void Completion::paramDecl() {
  // param NAME : TYPE in RANGE = DEFAULT when CONDITION
  if (const auto when = lastOf({"when"})) return condition(*when + 1, false);
  if (const auto assign = lastOf({"="})) {
    if (*assign + 1 < size()) return;
    return values(typeAt(3));
  }
  if (const auto colon = lastOf({":"})) {
    if (*colon + 1 == size()) return types();
    if (lastKind() == Token::Slash) return words(Role::Type, Kind::Class);
  }
}

void Completion::metricDecl() {
  // metric NAME : TYPE traits from SOURCE, or metric NAME = EXPRESSION traits
  if (lastOf({"="})) {
    condition(3, true);
    return words(Role::Trait, Kind::Keyword);
  }
  if (lastKind() == Token::From) {
    words(Role::Taken, Kind::Function);
    return words(Role::Source, Kind::Function);
  }
  const auto colon = lastOf({":"});
  if (!colon) return;
  if (*colon + 1 == size() || lastKind() == Token::Slash) return words(Role::Type, Kind::Class);
  if (context_.brackets > 0) return;
  words(Role::Trait, Kind::Keyword);
}

void Completion::workloadUse() {
  // workload [LABEL =] NAME(PARAMETER = VALUE, …)
  const auto open = openBracket();
  if (!open) {
    if (size() == 1 || lastKind() == Token::Assign) withImported(check::SymbolKind::Workload);
    return;
  }
  if (kindAt(*open) != Token::LeftParen || *open == 0) return;
  std::vector<std::string_view> name;
  for (size_t at = *open >= 3 && kindAt(*open - 2) == Token::Dot ? *open - 3 : *open - 1; at < *open; at += 2)
    name.push_back(textAt(at));
  const auto found = findWorkload(name);
  if (!found) return;  // inside the brackets of a value: `data = mnist(`
  workloads_ = {*found};
  std::vector<std::string> given;
  size_t begin = *open;
  unsigned depth = 0;
  for (size_t at = *open; at < size(); ++at) {
    const Token kind = kindAt(at);
    if (kind == Token::LeftParen || kind == Token::LeftBrace || kind == Token::LeftBracket) ++depth;
    if (kind == Token::RightParen || kind == Token::RightBrace || kind == Token::RightBracket) --depth;
    if (depth == 1 && kind == Token::Comma) begin = at;
    if (depth == 1 && kind == Token::Assign) given.emplace_back(textAt(at - 1));
  }
  if (begin + 1 == size()) return parameters(given);
  if (lastKind() == Token::Assign && begin + 3 == size()) values(typeOf(textAt(begin + 1)));
}

void Completion::factor() {
  // factor NAME in LEVELS baseline LEVEL when CONDITION
  if (size() == 1) {
    std::vector<std::string> without;
    if (const ast::StudyDecl* around = declaredStudy()) {
      for (const ast::FactorDecl& factor : around->factors) without.push_back(factor.name.name);
      for (const ast::WorkloadUse& use : around->workloads)
        for (const ast::CallArgument& argument : use.arguments)
          if (argument.name) without.push_back(argument.name->name);
    }
    return parameters(without);
  }
  if (kindAt(1) == Token::LeftParen && !lastOf({"in"})) return parameters({});
  const auto in = lastOf({"in"});
  if (!in) return;
  const auto clause = lastOf({"baseline", "when"});
  const std::string name = nameBefore(*in);
  if (clause && textAt(*clause) == "when") return condition(*clause + 1, false);
  if (clause && *clause + 1 == size()) return levelsOf(name);
  if (clause && context_.brackets > 0) return values(typeOf(name));  // a part of a tuple
  if (!clause && (*in + 1 == size() || context_.brackets > 0)) return values(typeOf(name));
}

void Completion::compare() {
  // compare NAME = FUNCTION(SUBJECT) over FACTOR against LEVEL allow CODE
  const auto open = openBracket();
  if (open && kindAt(*open) == Token::LeftParen) {
    if (lastKind() == Token::Comma && textAt(*open - 1) == "efficiency") return words(Role::Scaling, Kind::Keyword);
    return metrics(true);
  }
  if (lastKind() == Token::Assign) return functions();
  if (lastKind() == Token::Over) return factors();
  if (lastKind() == Token::Against) {
    const auto over = lastOf({"over"});
    if (over) levelsOf(nameBefore(size() - 1));
    return clauses({"previous"});
  }
  if (lastKind() == Token::Allow)
    return propose("W0406", Kind::Keyword, "", "Some points of the comparison have no partner.");
}

void Completion::criterion() {
  // criterion NAME: QUANTIFIER: … SUBJECT BOUND with confidence 95%
  const auto colon = lastOf({":"});
  if (!colon) return;
  if (const auto open = openBracket(); open && kindAt(*open) == Token::LeftBracket) return selectors(*open);
  if (*colon + 1 == size()) {
    return metrics(true);
  }
  const Token first = kindAt(*colon + 1);
  if (first == Token::ForAll || first == Token::Exists) {
    if (const auto where = lastOf({"where"}); where && *where > *colon) return condition(*where + 1, false);
    if (lastKind() == first || lastKind() == Token::Comma) factors();
    return;
  }
  if (last() == "like") return declared(check::SymbolKind::Reference, file_);
  if (lastKind() == Token::GreaterEqual || lastKind() == Token::LessEqual || lastKind() == Token::Greater ||
      lastKind() == Token::Less || lastKind() == Token::Equal)
    return lets();
}

void Completion::control() {
  if (const auto open = openBracket()) selectors(*open);
}

void Completion::output() {
  // table SUBJECT by FACTOR, …; plot SUBJECT over FACTOR by FACTOR, …
  if (size() == 1) return metrics(true);
  if (lastKind() == Token::By || lastKind() == Token::Over || lastKind() == Token::Comma) return factors();
}

void Completion::only() {
  if (size() == 1) return factors();
  const auto in = lastOf({"in"});
  if (!in) return;
  if (context_.brackets > 0 || *in + 1 == size()) levelsOf(nameBefore(*in));
}

void Completion::assignment() {
  if (const auto assign = lastOf({"="}); assign && *assign + 1 == size()) values(typeOf(textAt(0)));
}

}  // namespace expc::lsp
