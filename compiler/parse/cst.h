#pragma once

// The concrete tree that the generated parser's events are turned into. Everything past antlr_bridge.cpp works on it,
// so that no other file sees ANTLR.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/source/source.h"
#include "grammar_names.h"  // the lists of rules and tokens, which the build makes of the grammar

namespace expc::parse {

enum class Rule : uint8_t {
#define X(name) name,
  EXPC_PARSE_RULES(X)
#undef X
};

/// ANTLR counts tokens from one; zero stands for the end of the file here.
enum class Token : uint8_t {
  EndOfFile = 0,
#define X(name, token, text) name,
  EXPC_PARSE_TOKENS(X)
#undef X
};

/// A word that is kept for the language: from `import` to `false`.
inline bool isReserved(Token token) { return token >= Token::Import && token <= Token::False; }
/// A reserved word that begins a statement: from `import` to `remove`.
inline bool isHeadWord(Token token) { return token >= Token::Import && token <= Token::Remove; }
/// A word that may stand for a name.
inline bool isWord(Token token) {
  return token == Token::Identifier || (token >= Token::As && token < Token::LeftBrace);
}
/// A bracket of any kind.
inline bool opens(Token token) {
  return token == Token::LeftParen || token == Token::LeftBracket || token == Token::LeftBrace;
}
inline bool closes(Token token) {
  return token == Token::RightParen || token == Token::RightBracket || token == Token::RightBrace;
}
/// How a token is written, "" where that varies.
std::string_view spelling(Token token);
/// The token that is written so; Identifier for a word that is none of the grammar's.
Token tokenOf(std::string_view text);

/// Whether a declaration can be called so: one word that is none of the language's.
bool isName(std::string_view text);

// ---- blocks and statements

/// A rule that holds statements: the file, or what stands in braces.
struct Block {
  Rule rule;
  std::string_view name;  // as messages call it
  uint8_t words;          // as the table of words (compiler/language) calls it; None where no head begins a statement
  bool names;             // whether statements may begin with a name of their own: assignments, settings
  std::string_view statements;  // what they are, where no head begins them
};
bool isBlock(Rule rule);
/// That of a rule, or else the file.
const Block& blockOf(Rule rule);

/// The rules that catch an error inside them, so that the next statement is read again.
bool isStatement(Rule rule);
/// Whether it is a rule that parsing starts at.
bool isWholeFile(Rule rule);

/// The words that begin a statement of a block.
const std::vector<Token>& headsOf(Rule block);
bool isHead(Rule block, Token token);

/// Words that show that a block's brace is missing: nothing in it can begin with them. `after` is the token behind.
bool endsBlock(Rule block, Token token, Token after);

// ---- the tree

constexpr uint32_t kNone = UINT32_MAX;

/// A rule or a token of the input. Children form a list through `next`.
struct Node {
  bool is_token = false;
  Rule rule = Rule::File;
  Token token = Token::EndOfFile;
  bool broken = false;  // a syntax error in it was reported: its children are incomplete
  uint32_t begin = 0;   // bytes of the file
  uint32_t end = 0;
  uint32_t first_token = 0;  // index of the first token, for doc comments
  uint32_t child = kNone;
  uint32_t next = kNone;
};

struct Tree {
  source::FileId file;
  std::vector<Node> nodes;                         // the root is the first; empty when the input was refused as a whole
  std::unordered_map<uint32_t, std::string> docs;  // by index of the token that a doc comment stands before
};

/// The parser's position when the text ended: the rules that were open, and the tokens that may follow.
struct Cursor {
  struct Open {
    Rule rule;
    uint32_t begin;  // of its first token; where the text ends if there is none yet
  };
  std::vector<Open> rules;      // from the innermost outwards
  std::vector<Token> expected;  // what may come next; empty in a statement that cannot be understood
};

}  // namespace expc::parse
