// The language as far as it is built (docs/language.md says what it means). Every decision but one looks at one token, so
// parsing costs next to nothing; keep it so (the exception, in `refinement`, is rare).
// Rules named *Body are blocks and *Item (and declaration, setting) statements: the error strategy recovers there.
// The names of the rules are mirrored in compiler/parse/cst.h, in this order.
parser grammar ExpParser;

options { tokenVocab = ExpLexer; }

file            : declaration* EOF;
valueFile       : value EOF;

declaration     : importDecl | enumDecl | letDecl | workloadDecl | studyDecl;

importDecl      : IMPORT (name | text) (AS word)?;
enumDecl        : ORDERED? ENUM word LBRACE enumLevel (COMMA enumLevel?)* RBRACE;
enumLevel       : word (LPAREN enumField (COMMA enumField?)* RPAREN)?;
enumField       : refinedType (COLON refinedType)?;
letDecl         : LET word ASSIGN value;

// ---- workloads
workloadDecl    : WORKLOAD word workloadBody;
workloadBody    : LBRACE workloadItem* RBRACE;
workloadItem    : versionDecl | paramDecl | metricDecl | ruleDecl;
versionDecl     : VERSION number;
paramDecl       : PARAM word COLON refinedType (ASSIGN value)? (WHEN condition)?;
metricDecl      : METRIC word (COLON refinedType)? (ASSIGN value)? metricTrait*;
metricTrait     : IDENTIFIER;
ruleDecl        : (REQUIRE | EXCLUDE) condition (COLON condition)? (BECAUSE text)?;

// ---- studies
studyDecl       : STUDY word studyBody;
studyBody       : LBRACE studyItem* RBRACE;
studyItem       : workloadUse | factorDecl | letDecl | ruleDecl | measureDecl | metricDecl | compareDecl | criterionDecl
                | designDecl | tableDecl | plotDecl | presetDecl;
workloadUse     : WORKLOAD name arguments?;
factorDecl      : FACTOR word IN value factorClause*;
factorClause    : BASELINE condition | WHEN condition;
measureDecl     : MEASURE words;
compareDecl     : COMPARE word ASSIGN condition OVER word (AGAINST condition)?;
criterionDecl   : CRITERION word COLON (quantifier COLON)* claim (WITH CONFIDENCE sum)?;
quantifier      : (FORALL | EXISTS) (STAR | words)? (WHERE condition)?;
claim           : sum (relation sum | WITHIN sum RANGE sum);
relation        : EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL;
tableDecl       : TABLE word (BY words)?;
plotDecl        : PLOT word OVER word (BY words)?;

// ---- designs
designDecl      : DESIGN word? designBody;
designBody      : LBRACE designItem* RBRACE;
designItem      : word (kindBody | settingValue);
kindBody        : LBRACE setting* RBRACE;
setting         : word settingValue;
settingValue    : condition;

// ---- presets
presetDecl      : PRESET word presetBody;
presetBody      : LBRACE presetItem* RBRACE;
presetItem      : onlyClause | removeClause | criterionDecl | presetDesign | assignment;
onlyClause      : ONLY word IN value;
removeClause    : REMOVE CRITERION words;
presetDesign    : DESIGN (word? designBody | (DOT anyWord)+ ASSIGN value);
assignment      : word (DOT anyWord)* ASSIGN value;

// ---- types
type            : name (SLASH name)*;
refinedType     : type (IN refinement)?;
refinement      : set | sum (RANGE sum? (BY STAR? unary)?)?;

// ---- expressions, from the loosest
value           : set | condition;
set             : LBRACE value (COMMA value?)* RBRACE;
condition       : conjunction (OR conjunction)*;
conjunction     : negation (AND negation)*;
negation        : NOT* comparison;
comparison      : sum rangeTail? (comparator sum | NOT? IN members)*;
rangeTail       : RANGE sum (BY STAR? unary)?;
comparator      : EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL;
members         : set | sum rangeTail?;
sum             : product ((PLUS | MINUS) product)*;
product         : unary ((STAR | SLASH) unary)*;
unary           : MINUS* postfix;
postfix         : primary selectors*;
primary         : number | text | TRUE | FALSE | name arguments? | group;
group           : LPAREN value (COMMA value?)* RPAREN;
arguments       : LPAREN (argument (COMMA argument?)*)? RPAREN;
selectors       : LBRACK argument (COMMA argument?)* RBRACK;
argument        : value (ASSIGN value)?;

// ---- names and literals
number          : NUMBER;
text            : STRING;
name            : (word | SYSTEM) (DOT anyWord)*;
words           : word (COMMA word)*;
word            : IDENTIFIER | AS | ORDERED | VERSION | CONFIDENCE;
anyWord         : word | IMPORT | ENUM | LET | WORKLOAD | SYSTEM | REFERENCE | PRESET | STUDY | PARAM | METRIC | REQUIRE
                | EXCLUDE | FACTOR | MEASURE | COMPARE | CONTROL | CRITERION | DESIGN | TABLE | PLOT | ONLY | REMOVE
                | BASELINE | BECAUSE | BY | OVER | AGAINST | WHEN | WHERE | WITH | WITHIN | UNTIL | FROM | IN | AND | OR | NOT
                | FORALL | EXISTS | TRUE | FALSE;
