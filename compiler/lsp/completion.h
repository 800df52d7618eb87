#pragma once

// Internal to the completion: proposals for a place, told from the tokens before it and from what is declared.

#include <optional>

#include "compiler/language/words.h"
#include "compiler/lsp/context.h"
#include "compiler/lsp/features.h"

namespace expc::lsp {

class Completion {
 public:
  Completion(const Query& query, bool snippets);
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
    File = 17,
    EnumMember = 20,
    Constant = 21,
    Struct = 22,
    Event = 23
  };
  using Tokens = std::vector<parse::LexedToken>;

  // ---- by the kind of block (completion.cpp)
  void file();
  void workload();
  void study();
  void design();
  void preset();
  void reference();

  // ---- by the statement (completion_statements.cpp)
  void import();
  void paramDecl();
  void metricDecl();
  void workloadUse();
  void factor();
  void compare();
  void criterion();
  void control();
  void output();
  void only();
  void assignment();

  // ---- what may stand in a place (completion_places.cpp)
  bool number();                              // a unit is being typed
  bool member();                              // a name after a dot
  void condition(size_t from, bool metrics);  // an expression that began at that token of the statement
  void values(const check::Type& type);
  void units(const check::Type& type, std::string_view digits, source::Range range);
  void factors();
  void parameters(const std::vector<std::string>& without);
  void metrics(bool comparisons);
  void levelsOf(std::string_view factor);
  void selectors(size_t open);
  void withImported(check::SymbolKind kind);  // of this file, and of others behind the module's name
  void types();
  void functions();
  void lets();
  /// What is declared inside of `parent`, behind the name of its module and a dot if that is given.
  void declared(check::SymbolKind kind, std::optional<unsigned> parent, const std::string& module = "");

  // ---- symbols (completion_places.cpp)
  const check::Names& names() const { return query_.analysis.names(); }
  const ast::StudyDecl* declaredStudy() const;  // of study_, or null
  std::optional<unsigned> fileOf(const load::Module* file) const;
  std::optional<unsigned> importedAs(std::string_view name) const;
  std::optional<unsigned> findWorkload(const std::vector<std::string_view>& name) const;
  void addWorkloads(const ast::StudyDecl& study);

  // ---- the statement so far (completion_places.cpp)
  std::string_view text(const parse::LexedToken& token) const { return query_.analysis.sources.text(token.range); }
  size_t size() const { return context_.statement.size(); }
  std::string_view textAt(size_t index) const { return index < size() ? text(context_.statement[index]) : ""; }
  parse::Token kindAt(size_t index) const {
    return index < size() ? context_.statement[index].kind : parse::Token::EndOfFile;
  }
  std::string_view last(size_t back = 0) const { return back < size() ? textAt(size() - 1 - back) : ""; }
  parse::Token lastKind(size_t back = 0) const {
    return back < size() ? kindAt(size() - 1 - back) : parse::Token::EndOfFile;
  }
  /// The innermost bracket that is open, or nothing.
  std::optional<size_t> openBracket() const;
  /// The last of these words that stands outside of brackets, or nothing.
  std::optional<size_t> lastOf(std::initializer_list<std::string_view> words) const;
  /// The name that ends before token `end`, with a lockstep one in its usual form.
  std::string nameBefore(size_t end) const;
  /// The type of a name in sight; of type Error if it is unknown.
  check::Type typeOf(std::string_view name) const;
  /// The type that stands in tokens from `first` on.
  check::Type typeAt(size_t first) const;

  // ---- proposing (completion.cpp)
  void heads();
  void follow();
  void words(language::Role role, Kind kind, uint8_t blocks = language::Anywhere);
  void word(const language::Word& word, Kind kind);
  void clauses(std::initializer_list<std::string_view> names);
  void propose(std::string_view label, Kind kind, std::string_view detail, std::string_view doc,
               std::string_view snippet = "", std::optional<source::Range> range = std::nullopt);
  const Query& query_;
  bool snippets_;
  Context context_;
  const load::Module* root_;
  std::optional<unsigned> file_;              // symbols: the document, …
  std::optional<unsigned> study_, workload_;  // … what holds the place, as far as it could be read, …
  std::set<unsigned> workloads_;              // … the workloads whose names are in sight
  llvm::json::Array items_;
  std::set<std::string> seen_;
};

}  // namespace expc::lsp
