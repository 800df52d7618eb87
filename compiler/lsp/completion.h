#pragma once

// Internal to the completion: proposals for a place, told from what the grammar was reading and from what is declared.

#include <optional>

#include "compiler/language/words.h"
#include "compiler/lsp/context.h"
#include "compiler/lsp/features.h"

namespace expc::lsp {

class Completion {
 public:
  explicit Completion(const Query& query);
  llvm::json::Value run();

 private:
  // The protocol's kinds of proposal.
  enum class Kind : int {
    Function = 3,
    Field = 5,
    Variable = 6,
    Class = 7,
    Module = 9,
    Property = 10,
    Unit = 11,
    Value = 12,
    Enum = 13,
    Keyword = 14,
    Snippet = 15,
    EnumMember = 20,
    Constant = 21,
    Struct = 22,
    Event = 23
  };

  /// How far behind its token a slot reaches: to the items of a list; to wherever an operand may begin, in brackets
  /// too; or also to where a condition goes on with `and`, `or`, `in` or `not`.
  enum class Reach { List, Operands, Condition };
  /// What may stand behind a token of a rule, outside of brackets. EndOfFile stands for the beginning of the rule.
  struct Slot {
    parse::Rule rule;
    parse::Token after;
    void (*offer)(Completion&);
    Reach reach = Reach::List;
  };

  // ---- by what the grammar was reading (completion.cpp)
  static const Slot* slotOf(parse::Rule rule, parse::Token after);
  void names();
  void follow();
  void heads();
  bool next(parse::Token token) const;

  // ---- what may stand in a place (completion_places.cpp)
  bool number();                 // a unit is being typed
  bool member();                 // a name after a dot
  void condition(bool metrics);  // an operand of an expression
  void comparison();
  void arguments();  // of a workload
  void newFactors();
  void values(const check::Type& type);
  void factors();
  void parameters(const std::vector<std::string>& without = {});
  void metrics(bool comparisons);
  void levelsOf(const std::vector<std::string>& factor);
  void selectors();
  void imported(check::SymbolKind kind);  // of this file, and of others behind the module's name
  void types();
  void modules(std::string_view prefix);
  void lets();
  /// What is declared inside of `parent`, behind the name of its module and a dot if that is given.
  void declared(check::SymbolKind kind, std::optional<unsigned> parent, const std::string& module = "");

  // ---- symbols (completion_places.cpp)
  const check::Names& symbols() const { return query_.analysis.names(); }
  const ast::StudyDecl* declaredStudy() const;  // of study_, or null
  std::optional<unsigned> fileOf(const load::Module* file) const;
  std::optional<unsigned> importedAs(std::string_view name) const;
  void addWorkloads(const ast::StudyDecl& study);
  /// The type of a name in sight, or of a lockstep one's parts; of type Error if it is unknown.
  check::Type typeOf(const std::vector<std::string>& name) const;
  /// The type in `param NAME : TYPE`, if it has values of its own.
  check::Type typeBehindColon() const;

  // ---- the statement so far (completion_places.cpp)
  std::string_view text(const parse::LexedToken& token) const { return query_.analysis.sources.text(token.range); }
  size_t size() const { return context_.statement.size(); }
  std::string_view textAt(size_t index) const { return index < size() ? text(context_.statement[index]) : ""; }
  parse::Token kindAt(size_t index) const {
    return index < size() ? context_.statement[index].kind : parse::Token::EndOfFile;
  }
  std::string_view last(size_t back = 0) const { return textAt(size() - 1 - back); }
  parse::Token lastKind(size_t back = 0) const { return kindAt(size() - 1 - back); }
  /// Whether an operand ends before the place, so that none can begin there.
  bool afterOperand() const;
  /// The innermost bracket that is open, or nothing.
  std::optional<size_t> openBracket() const;
  /// The name that ends before token `end`, or the parts of a lockstep one.
  std::vector<std::string> nameBefore(size_t end) const;
  /// That before the first token of a kind.
  std::vector<std::string> nameBefore(parse::Token kind) const;

  // ---- proposing (completion.cpp)
  void words(language::Role role, Kind kind, uint8_t blocks = language::Anywhere);
  void words(std::initializer_list<std::string_view> texts, Kind kind = Kind::Keyword);
  void word(const language::Word& word, Kind kind) { propose(word.text, kind, "", word.doc, word.snippet); }
  void propose(std::string_view label, Kind kind, std::string_view detail, std::string_view doc,
               std::string_view snippet = "");

  const Query& query_;
  Context context_;
  const load::Module* root_;
  std::optional<unsigned> file_;              // symbols: the document, …
  std::optional<unsigned> study_, workload_;  // … what holds the place, as far as it could be read, …
  std::set<unsigned> workloads_;              // … the workloads whose names are in sight
  bool direct_ = false;  // nothing but items of a list stands between the slot's token and the place
  llvm::json::Array items_;
  std::set<std::string> seen_;
};

}  // namespace expc::lsp
