#pragma once

// The requests of an editor about a document, one function each, and the helpers that they share. A request gets a
// Query (a compiled document and a place in it) and answers with a JSON value of the protocol, null where there is
// nothing to say. The functions change nothing but the query's analysis, which they may complete (lints, line indices).
//
// Where they are: hover.cpp, completion.cpp, navigation.cpp (names and the outline), diagnostics.cpp (problems, mends,
// formatting, the protocol's shapes), context.cpp (surroundings of a place). server_documents.cpp maps methods of the
// protocol to them.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/render.h"
#include "compiler/editor/workspace.h"
#include "compiler/parse/antlr_bridge.h"
#include "runtime/base/llvm.h"

namespace expc::editor {

using diag::jsonText;

/// A question about one document that was compiled. Borrows everything; valid until the workspace changes.
struct Query {
  Workspace& workspace;
  const Document& document;
  Analysis& analysis;
  uint32_t offset = 0;  // the place in question, in bytes of the document

  /// The name at the place, and the symbol it means; null if there is no name.
  const check::Occurrence* name() const { return analysis.names().at(analysis.root, offset); }
  const check::Symbol* symbol() const {
    const check::Occurrence* found = name();
    return found ? &analysis.names().symbols()[found->symbol] : nullptr;
  }
};

/// The description of the name, word or number at the place, as Markdown.
json::Value hover(const Query& query);
/// The proposals for the place, always a list. They are not filtered by the letters typed so far; editors do that.
json::Value completion(const Query& query);
/// The location where the name at the place is declared.
json::Value definition(const Query& query);
/// All locations of the name, in all open documents and the files that they import.
json::Value references(const Query& query, bool with_declaration);
/// The ranges of the name in this document.
json::Value highlights(const Query& query);
/// The range of the name at the place if it can be renamed.
json::Value prepareRename(const Query& query);
/// The edits that give the name at the place a new one; an error with the reason if that cannot be done safely.
Expected<json::Value> rename(const Query& query, const std::string& name);
/// The declarations of the document as a tree.
json::Value outline(const Query& query);
/// The mends of the problems between the query's place and `end`, and one action for all certain mends of the document.
json::Value actions(const Query& query, uint32_t end);
/// The edits that format the document; null if it has syntax errors.
json::Value formatting(const Query& query);
/// The problems of the document itself, and for each imported file with errors the first of them, at the import.
json::Array diagnostics(const Query& query);

// ---- what is known of names

/// The checked form of a study of the root file; null if the checker gave up on it.
const check::Study* checkedStudy(const check::Program& program, const ast::StudyDecl& declaration);
/// The checked form of the workload whose name is declared at `name`; null if there is none.
const check::Workload* checkedWorkload(const check::Program& program, source::Range name);

/// A symbol in a few words of the source: the type of a parameter, the call of a comparison.
std::string detailOf(const Analysis& analysis, const check::Symbol& symbol);
/// A symbol's doc comment; "" if it has none.
std::string_view docOf(const check::Symbol& symbol);

// ---- what stands around a place (context.cpp)

/// The surroundings of a place. The parser tells them from the text before the place alone, so that they are known
/// while a statement is half typed.
struct Context : parse::Cursor {
  enum class Inside { Code, Comment, Text } inside = Inside::Code;

  parse::Rule block = parse::Rule::File;  // the innermost block (compiler/parse/cst.h): File, StudyBody, …
  bool in_enum = false;                   // inside the braces of an enum, whose names are the user's to choose
  uint32_t study = parse::kNone;     // offset of the name of the study that holds the place; kNone outside of studies
  uint32_t workload = parse::kNone;  // offset of the name of the workload declaration that holds the place

  /// The statement up to the place, from its head on, without the word that is being typed; empty where one may begin.
  std::vector<parse::LexedToken> statement;
  source::Range word;       // the letters, or number with letters, left of the place that are being typed; may be empty
  bool line_start = false;  // whether only the word stands before the place on its line
  unsigned brackets = 0;    // brackets of the statement that are open at the place
};

/// The context of the place at `offset` bytes. `tokens` are those of the whole document (parse::tokens).
Context contextAt(const source::SourceManager& sources, const std::vector<parse::LexedToken>& tokens, uint32_t offset);

// ---- the protocol's shapes

/// A range in the client's lines and columns.
json::Value rangeJson(const Query& query, source::Range range);
/// An edit that replaces a range by a text.
json::Value editJson(const Query& query, source::Range range, std::string_view text);
/// A place in any file of the analysis; null if an editor cannot open that file.
json::Value locationJson(const Query& query, source::Range range);

}  // namespace expc::editor
