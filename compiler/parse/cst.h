#pragma once

// The concrete tree that the generated parser's events are turned into. Everything past antlr_bridge.cpp works on it,
// so that no other file sees ANTLR. Rules and tokens mirror the grammar; the bridge checks at compile time that they
// still agree.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/source/source.h"

namespace expc::parse {

// clang-format off
// X(enumerator): the rules of ExpParser.g4, in the grammar's order.
#define EXPC_PARSE_RULES(X) \
  X(File) X(ValueFile) X(SettingFile) X(PointFile) X(Declaration) X(ImportDecl) X(UnitDecl) X(EnumDecl) X(EnumLevel) \
  X(EnumField) X(LetDecl) X(WorkloadDecl) X(CommandClause) X(TextList) X(CommandArgument) X(WorkloadBody) \
  X(WorkloadItem) X(VersionDecl) X(InputsDecl) X(OutputsDecl) X(PrepareDecl) X(BeforeDecl) X(ExitDecl) X(ExpectDecl) X(ParamDecl) X(ParamTrait) \
  X(MetricDecl) X(MetricTrait) X(MetricSource) X(EstimateDecl) X(RuleDecl) X(SystemDecl) X(SystemBody) X(SystemItem) \
  X(ReferenceDecl) X(ReferenceBody) X(ReferenceItem) X(StudyDecl) X(StudyBody) X(StudyItem) X(WorkloadUse) \
  X(FactorDecl) X(FactorClause) X(MeasureDecl) X(CompareDecl) X(ControlDecl) X(CriterionDecl) X(Quantifier) X(Claim) \
  X(Relation) X(ConfidenceDecl) X(TableDecl) X(PlotDecl) X(DesignDecl) X(DesignBody) X(DesignItem) X(KindBody) X(Setting) \
  X(SettingValue) X(LooksClause) X(PresetDecl) X(PresetBody) X(PresetItem) X(OnlyClause) X(CriteriaClause) X(PresetDesign) \
  X(Assignment) X(Assigned) X(Type) X(TupleType) X(RecordType) X(RecordField) X(RefinedType) X(Refinement) X(Value) X(Set) \
  X(Condition) X(Conjunction) X(Negation) X(Comparison) X(RangeTail) X(Comparator) X(Operand) X(Members) X(Sum) \
  X(Product) X(Coalescing) X(Unary) X(Postfix) X(Primary) X(Group) X(List) X(Arguments) X(Selectors) X(Argument) \
  X(Number) X(Text) X(Name) X(FactorName) X(FactorNames) X(Words) X(Word) X(AnyWord)

// X(enumerator, token of ExpLexer.g4, how it is written; "" where the text varies), in the grammar's order.
#define EXPC_PARSE_TOKENS(X) \
  X(Infeasible, INFEASIBLE, "infeasible") X(Always, ALWAYS, "always") X(Give, GIVE, "give") X(Keep, KEEP, "keep") \
  X(Of, OF, "of") \
  X(Import, IMPORT, "import") X(Enum, ENUM, "enum") X(Let, LET, "let") X(Workload, WORKLOAD, "workload") \
  X(System, SYSTEM, "system") X(Reference, REFERENCE, "reference") X(Preset, PRESET, "preset") \
  X(Study, STUDY, "study") X(Param, PARAM, "param") X(Metric, METRIC, "metric") X(Require, REQUIRE, "require") \
  X(Exclude, EXCLUDE, "exclude") X(Factor, FACTOR, "factor") X(Measure, MEASURE, "measure") \
  X(Compare, COMPARE, "compare") X(Control, CONTROL, "control") X(Criterion, CRITERION, "criterion") \
  X(Design, DESIGN, "design") X(Table, TABLE, "table") X(Plot, PLOT, "plot") X(Only, ONLY, "only") \
  X(Remove, REMOVE, "remove") X(Baseline, BASELINE, "baseline") X(Because, BECAUSE, "because") X(By, BY, "by") \
  X(Over, OVER, "over") X(Against, AGAINST, "against") X(When, WHEN, "when") X(Where, WHERE, "where") \
  X(With, WITH, "with") X(Within, WITHIN, "within") X(Until, UNTIL, "until") X(From, FROM, "from") X(In, IN, "in") \
  X(And, AND, "and") X(Or, OR, "or") X(Not, NOT, "not") X(ForAll, FORALL, "forall") X(Exists, EXISTS, "exists") \
  X(True, TRUE, "true") X(False, FALSE, "false") X(As, AS, "as") X(Ordered, ORDERED, "ordered") \
  X(Version, VERSION, "version") X(Confidence, CONFIDENCE, "confidence") X(Command, COMMAND, "command") \
  X(Timeout, TIMEOUT, "timeout") X(Options, OPTIONS, "options") X(Inputs, INPUTS, "inputs") X(Copy, COPY, "copy") \
  X(Outputs, OUTPUTS, "outputs") X(Prepare, PREPARE, "prepare") X(Before, BEFORE, "before") \
  X(Exit, EXIT, "exit") X(Expect, EXPECT, "expect") \
  X(Estimate, ESTIMATE, "estimate") X(Unit, UNIT, "unit") X(Like, LIKE, "like") X(Allow, ALLOW, "allow") \
  X(Looks, LOOKS, "looks") X(At, AT, "at") \
  X(LeftBrace, LBRACE, "{") \
  X(RightBrace, RBRACE, "}") X(LeftParen, LPAREN, "(") X(RightParen, RPAREN, ")") X(LeftBracket, LBRACK, "[") \
  X(RightBracket, RBRACK, "]") X(Comma, COMMA, ",") X(Colon, COLON, ":") X(Range, RANGE, "..") X(Dot, DOT, ".") \
  X(Equal, EQUAL, "==") X(NotEqual, NOT_EQUAL, "!=") X(LessEqual, LESS_EQUAL, "<=") \
  X(GreaterEqual, GREATER_EQUAL, ">=") X(Less, LESS, "<") X(Greater, GREATER, ">") X(Assign, ASSIGN, "=") \
  X(Plus, PLUS, "+") X(Minus, MINUS, "-") X(Star, STAR, "*") X(Slash, SLASH, "/") X(Coalesce, COALESCE, "??") \
  X(Number, NUMBER, "") \
  X(String, STRING, "") X(UnterminatedString, UNTERMINATED_STRING, "") X(Identifier, IDENTIFIER, "") X(Doc, DOC, "") \
  X(Comment, COMMENT, "") X(Whitespace, WHITESPACE, "") X(Unexpected, UNEXPECTED, "")
// clang-format on

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
/// How a token is written, "" where that varies.
std::string_view spelling(Token token);
/// The token that is written so; Identifier for a word that is none of the grammar's.
Token tokenOf(std::string_view text);

/// Whether a declaration can be called so: one word that is none of the language's.
bool isName(std::string_view text);

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

}  // namespace expc::parse
