#pragma once

// The concrete tree: rules and tokens as they stand in the text. antlr_bridge.cpp builds it from the generated parser's
// events, and everything behind the bridge works on it, so that no other file sees ANTLR.
//
// The lists of rules and tokens come from the grammar at build time; static assertions in the bridge hold them
// together. The predicates over tokens below use the order in which the lexer grammar declares the words, so a new word
// must be declared inside the right group.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/diag/source.h"
#include "grammar_names.h"  // the lists of rules and tokens, which the build makes of the grammar

namespace expc::parse {

/// A rule of ExpParser.g4.
enum class Rule : uint8_t {
#define X(name) name,
  EXPC_PARSE_RULES(X)
#undef X
};

/// A token of ExpLexer.g4. ANTLR counts tokens from one; zero stands for the end of the file here.
enum class Token : uint8_t {
  EndOfFile = 0,
#define X(name, token, text) name,
  EXPC_PARSE_TOKENS(X)
#undef X
};

/// Whether a word cannot be a name: `import` to `false` in the order of the grammar.
inline bool isReserved(Token token) { return token >= Token::Import && token <= Token::False; }
/// Whether a reserved word begins a statement: `import` to `remove` in the order of the grammar.
inline bool isHeadWord(Token token) { return token >= Token::Import && token <= Token::Remove; }
/// Whether a token can be a name: an identifier, or a word that means something in certain places only (`as`,
/// `version`).
inline bool isWord(Token token) {
  return token == Token::Identifier || (token >= Token::As && token < Token::LeftBrace);
}
/// Whether a token is an opening bracket of any kind.
inline bool opens(Token token) {
  return token == Token::LeftParen || token == Token::LeftBracket || token == Token::LeftBrace;
}
/// Whether a token is a closing bracket of any kind.
inline bool closes(Token token) {
  return token == Token::RightParen || token == Token::RightBracket || token == Token::RightBrace;
}
/// The text of a token; "" if it varies, as for names and numbers.
std::string_view spelling(Token token);
/// The token with this spelling; Identifier for a word that is none of the grammar's.
Token tokenOf(std::string_view text);

/// Whether a declaration can be called so: one word of ASCII letters, digits and `_` that is not reserved.
bool isName(std::string_view text);

// ---- blocks and statements

/// A rule that holds statements: the whole file, or the content of braces. Errors inside are caught at its statements.
struct Block {
  Rule rule;
  std::string_view name;        // how messages call it
  uint8_t words;                // its bit in the table of words (words.h); None where no head word begins a statement
  bool names;                   // whether statements may begin with a name of the user's: assignments, settings
  std::string_view statements;  // how messages describe its statements where no head word begins them; else ""
};
/// Whether a rule holds statements.
bool isBlock(Rule rule);
/// The description of a block; of the file if `rule` is no block.
const Block& blockOf(Rule rule);

/// Whether a rule catches syntax errors inside it, so that parsing goes on with the next statement. Includes the rules
/// of whole files.
bool isStatement(Rule rule);
/// Whether parsing may start at this rule: a file, or a text of the command line.
bool isWholeFile(Rule rule);

/// The tokens that may begin a statement of a block. Identifier is the first of them where only names begin statements.
const std::vector<Token>& headsOf(Rule block);
/// Whether `token` may begin a statement of `block`.
bool isHead(Rule block, Token token);

/// Whether a token shows that the block's closing brace is missing, because nothing in the block can begin with it.
/// `after` is the token behind it, which tells a declaration (`system box`) from a value (`system.gpus`).
bool endsBlock(Rule block, Token token, Token after);

// ---- the tree

/// No node, no token: the index that ends a list of children. The root has this index, and is nobody's child.
constexpr uint32_t kNone = 0;

/// A rule or a token of the input. Nodes refer to each other by index into Tree::nodes, so that the tree is one
/// allocation. Children form a list: `child` is the first, each child's `next` is its neighbour on the right.
struct Node {
  bool is_token = false;
  Rule rule = Rule::File;
  Token token = Token::EndOfFile;
  bool broken = false;  // a syntax error inside was reported: children are missing
  uint32_t begin = 0;   // [begin, end) in bytes of the file
  uint32_t end = 0;
  uint32_t first_token = 0;  // index of its first token; doc comments are found by it
  uint32_t child = kNone;
  uint32_t next = kNone;
};

/// The tree of a file or of a text of the command line.
struct Tree {
  source::FileId file;
  /// The root is the first; empty if the input was refused as a whole or had too many errors.
  std::vector<Node> nodes;
  /// Doc comments by the index of the token that they stand in front of; lines joined by newlines, without `///`.
  std::unordered_map<uint32_t, std::string> docs;
};

/// The parser's position where the text ends, for an editor that asks what may be typed there.
struct Cursor {
  struct Open {
    Rule rule;
    uint32_t begin;  // offset of its first token; the end of the text if it has none yet
  };
  std::vector<Open> rules;      // from the innermost outwards
  std::vector<Token> expected;  // the tokens that may come next; empty inside a statement that was not understood
};

}  // namespace expc::parse
