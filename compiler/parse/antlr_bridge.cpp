// From bytes to the tokens that the generated parser reads, and from these to the concrete tree. With antlr_strategy.h,
// a part of it, this is the only file that sees ANTLR.
//
// Three stages: Lexing runs the generated lexer and cuts numbers that it reads too far; TokenReader reports bad
// characters, checks the limits, keeps doc comments aside and settles words whose meaning depends on their neighbours;
// read() runs the generated parser over the finished list. All tokens are read before the parser starts, because
// settling needs the token behind, and the limits must hold before the parser recurses.

#include "compiler/parse/antlr_bridge.h"

#include <antlr4-runtime.h>
#include <llvm/ADT/STLExtras.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ExpLexer.h"
#include "ExpParser.h"
#include "compiler/parse/antlr_strategy.h"
#include "compiler/parse/words.h"

namespace expc::parse {

#define X(name) static_assert(size_t(Rule::name) == ExpParser::Rule##name, "cst.h and ExpParser.g4 differ");
EXPC_PARSE_RULES(X)
#undef X
#define X(name, token, text) static_assert(size_t(Token::name) == ExpLexer::token, "cst.h and ExpLexer.g4 differ");
EXPC_PARSE_TOKENS(X)
#undef X

namespace bridge {

EXPC_DIAGNOSTIC(UnterminatedString, "this text is not closed: a '\"' is missing before the end of the line");
EXPC_DIAGNOSTIC(TooManyTokens, "this file has more than {0} words and signs");
EXPC_DIAGNOSTIC(NestingTooDeep, "brackets are nested more than {0} deep");

/// A file's bytes, one character each, so that every index of ANTLR is a byte offset. The text is known to be UTF-8;
/// bytes beyond ASCII matter only in comments, in texts, and as characters that are reported.
struct ByteStream : antlr4::ANTLRInputStream {
  explicit ByteStream(std::string_view text) {
    for (const unsigned char byte : text) _data.push_back(byte);
  }
};

/// The tokens of a text, comments included. A byte order mark at the front is skipped.
class Lexing {
 public:
  explicit Lexing(std::string_view text) : text_(text), stream_(text), lexer_(&stream_) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    lexer_.removeErrorListeners();
    if (text.starts_with(kByteOrderMark)) stream_.seek(kByteOrderMark.size());
  }

  /// The next token. It refers to the stream of this object, which must outlive it.
  std::unique_ptr<antlr4::Token> next() {
    std::unique_ptr<antlr4::Token> token = lexer_.nextToken();
    if (kindOf(token->getType()) == Token::Number) splitNumber(*token);
    return token;
  }
  std::string_view text(const Located& token) const { return text_.substr(token.begin, token.end - token.begin); }

 private:
  /// Cuts a number with a unit at its stroke, unless the part below the stroke is a time, and lets the lexer go on
  /// behind it. The lexer reads the longest match, so it takes `80GiB/gpus` for a number with a unit such as `img/s`;
  /// only times stand below the stroke of a unit, anything else is a division.
  void splitNumber(antlr4::Token& number) {
    const Located place = located(&number);
    const std::string_view written = text(place);
    const size_t stroke = written.find('/');
    if (stroke == std::string_view::npos) return;
    if (const words::Unit* below = words::findUnit(written.substr(stroke + 1)); below && below->type == "Time") return;
    static_cast<antlr4::CommonToken&>(number).setStopIndex(place.begin + stroke - 1);
    stream_.seek(place.begin + stroke);
    lexer_.hitEOF = false;
  }

  std::string_view text_;
  ByteStream stream_;
  ExpLexer lexer_;
};

/// A token with its text, as settleWords() sees it.
struct Word {
  Token token;
  std::string_view text;
};

/// Tokens behind which a name or an expression has to follow.
constexpr Token kWantOperand[] = {Token::Over,        Token::By,    Token::Comma,   Token::Colon, Token::ForAll,
                                  Token::Exists,      Token::Only,  Token::Where,   Token::When,  Token::Require,
                                  Token::Exclude,     Token::And,   Token::Or,      Token::Not,   Token::LeftParen,
                                  Token::LeftBracket, Token::Equal, Token::NotEqual};

/// Tokens with which an expression goes on that a name began.
constexpr Token kGoOn[] = {Token::Dot,     Token::LeftParen,    Token::LeftBracket, Token::Plus,
                           Token::Minus,   Token::Star,         Token::Slash,       Token::Coalesce,
                           Token::Equal,   Token::NotEqual,     Token::Less,        Token::LessEqual,
                           Token::Greater, Token::GreaterEqual, Token::Within,      Token::Like};

static bool wantsOperand(Token token) { return is_contained(kWantOperand, token); }

/// Whether an expression may end with this token.
static bool endsOperand(Token token) {
  return token == Token::Number || token == Token::RightParen || token == Token::RightBracket || isWord(token);
}

/// Whether the type of a parameter may end with this token.
static bool endsType(Token token) {
  return token == Token::Number || token == Token::RightParen || token == Token::RightBrace || token == Token::Range ||
         isWord(token);
}

/// Whether a claim or a part of one may begin behind this token of a criterion.
static bool beginsClaim(Token token) {
  return token == Token::Colon || token == Token::And || token == Token::Or || token == Token::LeftParen;
}

/// The meaning of one word, by the head of its statement and the tokens on both sides; see settleWords().
static Token settled(Token head, Token previous, const Word& word, Token next) {
  using enum Token;
  const Token token = word.token;
  const bool compared = next == Equal || next == NotEqual || next == In || next == Not;
  const bool begins = previous == EndOfFile;  // a condition of the command line
  if (token == Workload && (begins ? compared : wantsOperand(previous) && !isWord(next) && next != System))
    return Identifier;
  if (token == Percentile && next == LeftParen) return Identifier;
  if (token != Identifier) return token;
  if (word.text == "keep" && next == Criterion)
    return wantsOperand(previous) || previous == Assign || previous == In ? token : Keep;
  if (head == Param && word.text == "inside" && endsType(previous)) return Inside;
  if (head == Table && word.text == "of" && isWord(previous) && isWord(next)) return Of;
  if (head != Criterion) return token;
  if (word.text == "least" && previous == AtLeast) return Least;
  if (word.text == "infeasible" && beginsClaim(previous) && next != Colon && !is_contained(kGoOn, next))
    return Infeasible;
  if (word.text == "absent" && beginsClaim(previous) && next == LeftParen) return Absent;
  if (word.text == "of" && (endsOperand(previous) || previous == Least)) return Of;
  const bool clause = endsOperand(previous) && next != Assign && next != Dot;
  return clause && word.text == "always" ? Always : clause && word.text == "give" ? Give : token;
}

/// Settles the words that a token alone does not tell, for all tokens of a file. These words stay free as names
/// everywhere else, which is why the lexer cannot reserve them:
/// - `infeasible` where a part of a claim begins is a claim of its own, unless an expression goes on behind it;
/// - `absent` there, before a bracket, claims that trials have no value;
/// - `at least` there begins a quantifier, up to `of`;
/// - `always` and `give` behind the end of a criterion's bound or band are its clauses, unless they are assigned to;
/// - `of` behind the first word of a table introduces the metrics that a description (correlation, effects) is about;
/// - `inside` behind the type of a parameter says that processes go through its levels;
/// - `keep` before `criterion` begins a statement of a preset, unless it is a value;
/// - `p99.9` before a bracket is the name of a function, and nothing elsewhere;
/// - `workload` in the place of a name is the factor that chooses between several workloads of a study.
static void settleWords(std::vector<Word>& words) {
  Token head = Token::EndOfFile, previous = Token::EndOfFile;
  for (size_t at = 0; at < words.size(); ++at) {
    const Token next = at + 1 < words.size() ? words[at + 1].token : Token::EndOfFile;
    if (words[at].token == Token::At && head == Token::Criterion && beginsClaim(previous) &&
        next == Token::Identifier && words[at + 1].text == "least")
      words[at].token = Token::AtLeast;
    previous = words[at].token = settled(head, previous, words[at], next);
    if (isHeadWord(previous)) head = previous;
  }
}

/// Reads all tokens for the parser: reports characters that begin none, drops comments, keeps doc comments aside,
/// checks the limits.
struct TokenReader {
  Reporter& reporter;
  Tree& tree;
  Lexing lexing;
  std::vector<std::unique_ptr<antlr4::Token>> tokens = {};
  std::string doc = {};  // the doc comment that waits for its token
  size_t depth = 0;      // brackets that are open

  /// Fills `tokens` up to and including EndOfFile. False if the parser must not see them, because a limit is passed or
  /// enough errors were reported.
  bool read() {
    for (Token kind = Token::Unexpected; kind != Token::EndOfFile;) {
      std::unique_ptr<antlr4::Token> token = lexing.next();
      const Located place = located(token.get());
      kind = place.token;
      if (kind == Token::Doc) addDoc(place);
      if (kind == Token::Comment || kind == Token::Doc) continue;
      // A text that is not closed goes on as a text: one error here beats a second one from the parser.
      if (kind == Token::UnterminatedString) {
        reporter.emit({tree.file, place.begin, place.end}, UnterminatedString);
        setType(*token, Token::String);
      }
      if (kind == Token::Unexpected && !keepUnexpected(*token, place)) continue;
      if (reporter.exhausted() || !withinLimits(kind, place.begin)) return false;
      if (!doc.empty()) tree.docs[uint32_t(tokens.size())] = std::exchange(doc, "");
      tokens.push_back(std::move(token));
    }
    settle();
    return !reporter.exhausted();
  }

  static void setType(antlr4::Token& token, Token kind) {
    static_cast<antlr4::CommonToken&>(token).setType(size_t(kind));
  }

  /// Applies settleWords() to `tokens`.
  void settle() {
    std::vector<Word> words;
    for (const auto& token : tokens) {
      const Located place = located(token.get());
      words.push_back({place.token, lexing.text(place)});
    }
    settleWords(words);
    for (size_t at = 0; at < words.size(); ++at)
      if (words[at].token != Token::EndOfFile) setType(*tokens[at], words[at].token);
  }

  /// Appends a line of `///` to the doc comment; a ruler of slashes (`////`) is no documentation.
  void addDoc(const Located& place) {
    std::string_view line = lexing.text(place).substr(3);
    if (line.starts_with('/')) return;
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!doc.empty()) doc += '\n';
    doc += line;
  }

  /// Reports characters that begin no token, and decides whether the parser sees them. They stay in the stream, so that
  /// the parser does not join the parts around them to one statement; `&&`, `||`, `!` and 'text' stay as the tokens
  /// that were meant. False for `;` and comments with `#`: the statement is complete without them.
  bool keepUnexpected(antlr4::Token& token, const Located& place) {
    const std::string_view written = lexing.text(place);
    reportCharacters(reporter, place.begin, place.end);
    if (written == "&&" || written == "&") setType(token, Token::And);
    if (written == "||" || written == "|") setType(token, Token::Or);
    if (written == "!") setType(token, Token::Not);
    if (written.front() == '\'' && written.size() > 1) setType(token, Token::String);
    return written.front() != ';' && written.front() != '#';
  }

  /// False, after a message, if this token would pass a limit.
  bool withinLimits(Token kind, uint32_t begin) {
    if (tokens.size() >= kMaxTokens) {
      reporter.emit({tree.file, begin, begin}, TooManyTokens, kMaxTokens);
      return false;
    }
    if (opens(kind)) ++depth;
    if (closes(kind) && depth > 0) --depth;
    if (depth > kMaxNesting) reporter.emit({tree.file, begin, begin + 1}, NestingTooDeep, kMaxNesting);
    return depth <= kMaxNesting;
  }
};

}  // namespace bridge

namespace {

/// Parses the text of a file before `end`. `cursor`, if not null, receives where the grammar stands at the end.
Tree read(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter, uint32_t end,
          Cursor* cursor) {
  Tree tree;
  tree.file = file;
  bridge::TokenReader reader{reporter, tree, bridge::Lexing(reporter.text().substr(0, end))};
  if (!reader.read()) return tree;

  antlr4::ListTokenSource source(std::move(reader.tokens));
  antlr4::CommonTokenStream tokens(&source);
  ExpParser parser(&tokens);
  // SLL is the faster of ANTLR's two predictions. Where a rule needed full LL, a valid file would get a syntax error,
  // and the grammar's corpus would show it.
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.removeErrorListeners();
  // The listener builds our own tree; ANTLR's, with an object for each node, is not needed.
  parser.setBuildParseTree(false);
  bridge::TreeBuilder builder(tree);
  parser.addParseListener(&builder);
  parser.setErrorHandler(std::make_shared<bridge::Strategy>(sources, reporter, builder, cursor));
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
    // Rules were left half-way by the exception: indices in the tree are not closed.
    tree.nodes.clear();
  }
  return tree;
}

}  // namespace

Tree parseTree(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter) {
  return read(sources, file, start, reporter, UINT32_MAX, nullptr);
}

Cursor cursorAt(const source::SourceManager& sources, source::FileId file, uint32_t end) {
  diag::Collector unsaid;
  diag::Emitter emitter(unsaid);
  // Errors go nowhere and must never stop the parser: without a limit it reaches the end of the text.
  Reporter reporter(sources, emitter, file, SIZE_MAX - 1);
  Cursor cursor;
  read(sources, file, Rule::File, reporter, end, &cursor);
  return cursor;
}

std::vector<LexedToken> tokens(const source::SourceManager& sources, source::FileId file) {
  const std::string_view text = sources.text(file);
  bridge::Lexing lexing(text);
  std::vector<LexedToken> out;
  // The words without comments, since settleWords() looks at neighbours as the parser sees them.
  std::vector<bridge::Word> words;
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
