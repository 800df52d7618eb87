#pragma once

#include <cstdint>
#include <vector>

#include "compiler/parse/antlr_bridge.h"

namespace expc::lsp {

/// What stands around a place, told by the parser from the text before it: it
/// works while a statement is half typed.
struct Context {
  enum class Inside { Code, Comment, Text } inside = Inside::Code;

  parse::Rule block = parse::Rule::File;  // the innermost rule that holds
                                          // statements: File, StudyBody, …
  bool in_enum = false;                   // in the braces of an enum, whose names are the user's
  std::vector<parse::Place::Open> rules;  // what the grammar is reading, from the innermost outwards
  std::vector<parse::Token> expected;     // and what it lets come next
  uint32_t study = parse::kNone;          // where the name of the study stands that holds the place
  uint32_t workload = parse::kNone;       // or that of the workload declaration

  /// The statement so far, from its head on; empty where one may begin. The
  /// word that is being typed is not among them.
  std::vector<parse::LexedToken> statement;
  source::Range word;       // what is being typed: letters left of the place, or a
                            // number with letters; may be empty
  bool line_start = false;  // nothing but the word stands before the place on its line
  unsigned brackets = 0;    // open in the statement
};

Context contextAt(const source::SourceManager& sources, const std::vector<parse::LexedToken>& tokens, uint32_t offset);

}  // namespace expc::lsp
