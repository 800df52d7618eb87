#include "compiler/parse/contextual.h"

#include <llvm/ADT/STLExtras.h>

namespace expc::parse {

namespace {

/// A name or an expression has to follow these.
constexpr Token kWantOperand[] = {Token::Over,        Token::By,    Token::Comma,   Token::Colon, Token::ForAll,
                                  Token::Exists,      Token::Only,  Token::Where,   Token::When,  Token::Require,
                                  Token::Exclude,     Token::And,   Token::Or,      Token::Not,   Token::LeftParen,
                                  Token::LeftBracket, Token::Equal, Token::NotEqual};

/// With these an expression goes on that a name began.
constexpr Token kGoOn[] = {Token::Dot,     Token::LeftParen,    Token::LeftBracket, Token::Plus,
                           Token::Minus,   Token::Star,         Token::Slash,       Token::Coalesce,
                           Token::Equal,   Token::NotEqual,     Token::Less,        Token::LessEqual,
                           Token::Greater, Token::GreaterEqual, Token::Within,      Token::Like};

bool wantsOperand(Token token) { return llvm::is_contained(kWantOperand, token); }

/// Whether a whole expression may end here.
bool endsOperand(Token token) {
  return token == Token::Number || token == Token::RightParen || token == Token::RightBracket || isWord(token);
}

/// `head` begins the statement.
Token settled(Token head, Token previous, const Word& word, Token next) {
  const Token token = word.token;
  const bool compared = next == Token::Equal || next == Token::NotEqual || next == Token::In || next == Token::Not;
  const bool begins = previous == Token::EndOfFile;  // a condition of the command line
  if (token == Token::Workload &&
      (begins ? compared : wantsOperand(previous) && !isWord(next) && next != Token::System))
    return Token::Identifier;
  if (token != Token::Identifier) return token;
  if (word.text == "keep" && next == Token::Criterion)
    return wantsOperand(previous) || previous == Token::Assign || previous == Token::In ? token : Token::Keep;
  if (head == Token::Table && word.text == "of" && isWord(previous) && isWord(next)) return Token::Of;
  if (head != Token::Criterion) return token;
  if (word.text == "infeasible" && previous == Token::Colon && !llvm::is_contained(kGoOn, next))
    return Token::Infeasible;
  const bool clause = endsOperand(previous) && next != Token::Assign && next != Token::Dot;
  return clause && word.text == "always" ? Token::Always : clause && word.text == "give" ? Token::Give : token;
}

}  // namespace

void settleWords(std::vector<Word>& words) {
  Token head = Token::EndOfFile, previous = Token::EndOfFile;
  for (size_t at = 0; at < words.size(); ++at) {
    const Token next = at + 1 < words.size() ? words[at + 1].token : Token::EndOfFile;
    previous = words[at].token = settled(head, previous, words[at], next);
    if (isHeadWord(previous)) head = previous;
  }
}

}  // namespace expc::parse
