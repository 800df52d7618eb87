#pragma once

// Requests of an editor about a document. Each answers with a JSON value of the protocol, null where there is nothing.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/render.h"
#include "compiler/editor/workspace.h"
#include "compiler/parse/antlr_bridge.h"

namespace expc::editor {

using diag::jsonText;

/// A question about one document, compiled; or what is said of it unasked.
struct Query {
  Workspace& workspace;
  const Document& document;
  Analysis& analysis;
  uint32_t offset = 0;  // the place that is asked about, in bytes

  /// The name that stands there, and what it means; null where there is none.
  const check::Occurrence* name() const { return analysis.names().at(analysis.root, offset); }
  const check::Symbol* symbol() const {
    const check::Occurrence* found = name();
    return found ? &analysis.names().symbols()[found->symbol] : nullptr;
  }
};

llvm::json::Value hover(const Query& query);
llvm::json::Value completion(const Query& query);
llvm::json::Value definition(const Query& query);
/// In all open documents and what they import.
llvm::json::Value references(const Query& query, bool with_declaration);
llvm::json::Value highlights(const Query& query);
/// The range of a name that can be changed, or null.
llvm::json::Value prepareRename(const Query& query);
/// An edit, or why there is none.
llvm::Expected<llvm::json::Value> rename(const Query& query, const std::string& name);
llvm::json::Value outline(const Query& query);
/// Mends of what is reported between two places.
llvm::json::Value actions(const Query& query, uint32_t end);
/// Edits; null where the document has syntax errors.
llvm::json::Value formatting(const Query& query);
/// The diagnostics of the document itself, and one at each import that has some.
llvm::json::Array diagnostics(const Query& query);

// ---- what is known of names

/// The checked form of a study of the root file; null where check gave up on it.
const check::Study* checkedStudy(const check::Program& program, const ast::StudyDecl& declaration);
/// The checked form of the workload whose name is declared at a place; null where there is none.
const check::Workload* checkedWorkload(const check::Program& program, source::Range name);

/// A symbol in a few words, as they are written: the type of a parameter, the call of a comparison.
std::string detailOf(const Analysis& analysis, const check::Symbol& symbol);
/// Its doc comment; "" where it has none.
std::string_view docOf(const check::Symbol& symbol);
/// The text at a place, if it is short.
std::string writtenShort(const Analysis& analysis, source::Range range);

// ---- what stands around a place (context.cpp)

/// The surroundings of a place, told by the parser from the text before it: this works while a statement is half typed.
struct Context : parse::Cursor {
  enum class Inside { Code, Comment, Text } inside = Inside::Code;

  parse::Rule block = parse::Rule::File;  // the innermost rule that holds statements: File, StudyBody, …
  bool in_enum = false;                   // in the braces of an enum, whose names are the user's
  uint32_t study = parse::kNone;          // where the name of the study stands that holds the place
  uint32_t workload = parse::kNone;       // or that of the workload declaration

  /// The statement so far, from its head on; empty where one may begin. The word that is being typed is not among them.
  std::vector<parse::LexedToken> statement;
  source::Range word;       // what is being typed: letters left of the place, or a number with letters; may be empty
  bool line_start = false;  // nothing but the word stands before the place on its line
  unsigned brackets = 0;    // open in the statement
};

Context contextAt(const source::SourceManager& sources, const std::vector<parse::LexedToken>& tokens, uint32_t offset);

// ---- the protocol's shapes

llvm::json::Value rangeJson(const Query& query, source::Range range);
/// Puts a text in the place of another, or proposes to.
llvm::json::Value editJson(const Query& query, source::Range range, std::string_view text);
/// Edits of the document that is asked about.
llvm::json::Value changesJson(const Query& query, llvm::json::Array edits);
llvm::json::Object diagnosticJson(const Query& query, const diag::Diagnostic& diagnostic, source::Range range,
                                  std::string_view message);
/// Null where an editor cannot open the file.
llvm::json::Value locationJson(const Query& query, source::Range range);

}  // namespace expc::editor
