// Tells the surroundings of a place for completion and hovers: the block, the statement so far, the word that is being
// typed. Tokens tell comments, texts and the word; the parser, which reads only the text before the word, tells the
// rules that are open. The text behind the place is ignored, since the statement that is being typed rarely parses.

#include "compiler/editor/features.h"
#include "compiler/parse/cst.h"

namespace expc::editor {
namespace {

using parse::LexedToken;
using parse::Rule;
using parse::Token;

/// Fills the parts of the context that tokens alone tell: whether the place is in a comment or text, and the word that
/// is being typed.
void typed(const source::SourceManager& sources, const std::vector<LexedToken>& tokens, uint32_t offset,
           Context& context) {
  const source::FileId file = tokens.empty() ? source::FileId{0} : tokens.back().range.file;
  context.word = {file, offset, offset};
  for (const LexedToken& token : tokens) {
    if (token.kind == Token::EndOfFile || token.range.begin >= offset) break;
    if (token.range.end < offset) continue;
    const bool within = token.range.end > offset;
    // The end of a comment, and of a text that is not closed, still counts as inside: typing there goes on with it.
    if (token.isComment()) context.inside = Context::Inside::Comment;
    if (token.kind == Token::UnterminatedString || (token.kind == Token::String && within))
      context.inside = Context::Inside::Text;
    if (parse::isWord(token.kind) || parse::isReserved(token.kind) || token.kind == Token::Number)
      context.word.begin = token.range.begin;
  }
  const std::string_view before = sources.text(source::Range{file, 0, context.word.begin});
  const size_t line = before.find_last_of("\r\n") + 1;  // npos + 1 is 0, the beginning of the text
  context.line_start = before.find_first_not_of(" \t", line) == std::string_view::npos;
}

unsigned openBrackets(const std::vector<LexedToken>& tokens) {
  unsigned open = 0;
  for (const LexedToken& token : tokens) {
    if (parse::opens(token.kind)) ++open;
    if (parse::closes(token.kind) && open > 0) --open;
  }
  return open;
}

}  // namespace

Context contextAt(const source::SourceManager& sources, const std::vector<LexedToken>& tokens, uint32_t offset) {
  Context context;
  typed(sources, tokens, offset, context);
  const uint32_t end = context.word.begin;
  static_cast<parse::Cursor&>(context) = parse::cursorAt(sources, context.word.file, end);
  uint32_t statement = end;
  bool in_block = false;
  // From the innermost rule outwards: the first block is the one that holds the place, and the first statement inside
  // that block is the one that is being typed.
  for (const auto& [rule, begin] : context.rules) {
    if (!in_block && statement == end && parse::isStatement(rule) && !parse::isBlock(rule)) statement = begin;
    if (!in_block && parse::isBlock(rule)) {
      in_block = true;
      context.block = rule;
    }
    context.in_enum |= rule == Rule::EnumDecl;
    if (rule == Rule::StudyDecl || rule == Rule::WorkloadDecl || rule == Rule::ServiceDecl)
      for (const LexedToken& token : tokens)  // its name is the token behind its head
        if (token.range.begin > begin && !token.isComment()) {
          (rule == Rule::StudyDecl ? context.study : context.workload) = token.range.begin;
          break;
        }
  }
  for (const LexedToken& token : tokens) {
    if (token.range.begin >= end) break;
    if (!token.isComment() && token.range.begin >= statement) context.statement.push_back(token);
  }
  context.brackets = openBrackets(context.statement);
  // Only between the braces: the rule is open in front of them too, where its own name and words stand.
  context.in_enum &= context.brackets > 0;
  return context;
}

}  // namespace expc::editor
