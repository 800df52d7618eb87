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

namespace {

/// Parses the text of a file before `end`.
Tree read(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter, uint32_t end,
          Place* place) {
  Tree tree;
  tree.file = file;
  bridge::TokenReader reader(reporter, tree, end);
  if (!reader.read()) return tree;

  antlr4::ListTokenSource source(reader.take());
  antlr4::CommonTokenStream tokens(&source);
  ExpParser parser(&tokens);
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.removeErrorListeners();
  parser.setBuildParseTree(false);
  bridge::TreeBuilder builder(tree);
  parser.addParseListener(&builder);
  parser.setErrorHandler(std::make_shared<bridge::Strategy>(sources, reporter, builder, place));
  try {
    if (start == Rule::ValueFile)
      parser.valueFile();
    else if (start == Rule::SettingFile)
      parser.settingFile();
    else if (start == Rule::PointFile)
      parser.pointFile();
    else
      parser.file();
  } catch (const TooManyErrorsReached&) {
    tree.nodes.clear();  // rules were left half-way
  }
  return tree;
}

}  // namespace

Tree parseTree(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter) {
  return read(sources, file, start, reporter, kNone, nullptr);
}

Place placeAt(const source::SourceManager& sources, source::FileId file, uint32_t end) {
  diag::Collector unsaid;
  diag::Emitter emitter(unsaid);
  Reporter reporter(sources, emitter, file, SIZE_MAX - 1);
  Place place;
  read(sources, file, Rule::File, reporter, end, &place);
  return place;
}

std::vector<LexedToken> tokens(const source::SourceManager& sources, source::FileId file) {
  const std::string_view text = sources.text(file);
  bridge::Lexing lexing(text);
  std::vector<LexedToken> out;
  std::vector<bridge::Word> words;  // as the token reader does for the parser
  uint32_t before = 0;
  do {
    const Located place = bridge::located(lexing.next().get());
    LexedToken entry{place.token, {file, place.begin, place.end}, 0};
    if (entry.kind == Token::Doc && lexing.text(place).starts_with("////")) entry.kind = Token::Comment;
    for (char c : text.substr(before, place.begin - before)) entry.lines_before += c == '\n';
    before = place.end;
    out.push_back(entry);
    if (!entry.isComment()) words.push_back({entry.kind, lexing.text(place)});
  } while (out.back().kind != Token::EndOfFile);
  bridge::settleWords(words);
  auto settled = words.begin();
  for (LexedToken& token : out)
    if (!token.isComment()) token.kind = (settled++)->token;
  return out;
}

}  // namespace expc::parse
