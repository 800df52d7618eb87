// The only file of ours that sees ANTLR, with antlr_tokens.h and antlr_strategy.h, which are parts of it.

#include "compiler/parse/antlr_bridge.h"

#include <antlr4-runtime.h>

#include "ExpLexer.h"
#include "ExpParser.h"
#include "compiler/parse/antlr_strategy.h"
#include "compiler/parse/antlr_tokens.h"

namespace expc::parse {

#define X(name) \
  static_assert(static_cast<size_t>(Rule::name) == ExpParser::Rule##name, "cst.h and ExpParser.g4 differ");
EXPC_PARSE_RULES(X)
#undef X
#define X(name, token, text) \
  static_assert(static_cast<size_t>(Token::name) == ExpLexer::token, "cst.h and ExpLexer.g4 differ");
EXPC_PARSE_TOKENS(X)
#undef X
Tree parseTree(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter) {
  Tree tree;
  tree.file = file;
  bridge::TokenReader reader(sources, reporter, tree);
  if (!reader.read()) return tree;

  antlr4::ListTokenSource source(reader.take());
  antlr4::CommonTokenStream tokens(&source);
  ExpParser parser(&tokens);
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.removeErrorListeners();
  parser.setBuildParseTree(false);
  bridge::TreeBuilder builder(tree);
  parser.addParseListener(&builder);
  parser.setErrorHandler(std::make_shared<bridge::Strategy>(sources, reporter, builder));
  try {
    if (start == Rule::ValueFile)
      parser.valueFile();
    else
      parser.file();
  } catch (const TooManyErrorsReached&) {
    tree.nodes.clear();  // rules were left half-way
  }
  return tree;
}

}  // namespace expc::parse
