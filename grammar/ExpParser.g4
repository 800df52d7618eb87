// The language (docs/language.md says what it means). Every decision but two looks at one token, so parsing costs next to
// nothing; keep it so (the exceptions, in `refinement` and `prepareDecl`, are rare).
// Old spellings are read as well, and the reader warns of them: a word behind DESIGN, GIVE, ALLOW.
// Rules named *Body are blocks and *Item (and declaration, setting) statements: the error strategy recovers there.
// The names of the rules and tokens are those of compiler/parse/cst.h, which has them from here.
parser grammar ExpParser;

options { tokenVocab = ExpLexer; }

file            : declaration* EOF;
valueFile       : value EOF;
settingFile     : assigned (COMMA value)* EOF;
pointFile       : assigned (COMMA assigned | assignment)* EOF;

declaration     : importDecl | unitDecl | enumDecl | letDecl | metricDecl | workloadDecl | serviceDecl | systemDecl | referenceDecl
                | confidenceDecl | designDecl | presetDecl | partDecl | studyDecl;

importDecl      : IMPORT (name | text) (AS word)?;
unitDecl        : UNIT word (ASSIGN value)?;
enumDecl        : ORDERED? ENUM word LEFT_BRACE enumLevel (COMMA enumLevel?)* RIGHT_BRACE;
enumLevel       : word (LEFT_PAREN enumField (COMMA enumField?)* RIGHT_PAREN)?;
enumField       : refinedType (COLON refinedType)?;
letDecl         : LET word ASSIGN value;

// ---- workloads
workloadDecl    : WORKLOAD word (commandDecl timeoutDecl?)? workloadBody;
commandDecl     : COMMAND textList;
timeoutDecl     : TIMEOUT sum;
textList        : LEFT_BRACKET commandArgument (COMMA commandArgument?)* RIGHT_BRACKET;
commandArgument : text | OPTIONS text*;
workloadBody    : LEFT_BRACE workloadItem* RIGHT_BRACE;
workloadItem    : versionDecl | commandDecl | timeoutDecl | inputsDecl | outputsDecl | prepareDecl | beforeDecl | exitDecl | ranksDecl | expectDecl
                | paramDecl | letDecl | metricDecl | estimateDecl | ruleDecl | serviceUse;
serviceUse      : SERVICE name;
versionDecl     : VERSION number;
inputsDecl      : INPUTS COPY? text (COMMA text)*;
outputsDecl     : OUTPUTS sum;
prepareDecl     : PREPARE textList (TIMEOUT sum)?;
beforeDecl      : BEFORE textList;
exitDecl        : EXIT number (COMMA number)*;
ranksDecl       : RANKS word;
expectDecl      : EXPECT condition;
paramDecl       : PARAM word COLON refinedType (ASSIGN value)? (INSIDE metricSource? (ASSIGN value)?)? (WHEN condition)? paramTrait?;
paramTrait      : WITH word word WHEN condition;
metricDecl      : METRIC word (DOT STAR metricSource? | (COLON refinedType)? (ASSIGN value (OVER overFactors)?)? (metricTrait | metricSource)*);
metricTrait     : IDENTIFIER;
metricSource    : FROM sum;
estimateDecl    : ESTIMATE word ASSIGN value (WHEN condition)?;
ruleDecl        : (REQUIRE | EXCLUDE) value (COLON value)? (BECAUSE text)?;

serviceDecl     : SERVICE word commandDecl? serviceBody;
serviceBody     : LEFT_BRACE serviceItem* RIGHT_BRACE;
serviceItem     : commandDecl | inputsDecl | prepareDecl | paramDecl | letDecl | metricDecl | ruleDecl | readyDecl;
readyDecl       : READY sum (TIMEOUT sum)?;

// ---- systems and references
systemDecl      : SYSTEM word systemBody;
systemBody      : LEFT_BRACE systemItem* RIGHT_BRACE;
systemItem      : assignment;
referenceDecl   : REFERENCE word FROM text referenceBody;
referenceBody   : LEFT_BRACE referenceItem* RIGHT_BRACE;
referenceItem   : word (ASSIGN sum)?;

// ---- studies
studyDecl       : STUDY word studyBody;
partDecl        : PART word studyBody;
studyBody       : LEFT_BRACE studyItem* RIGHT_BRACE;
studyItem       : workloadUse | useDecl | paramDecl | factorDecl | letDecl | ruleDecl | measureDecl | metricDecl | compareDecl | controlDecl
                | criterionDecl | confidenceDecl | expectedDecl | designDecl | tableDecl | plotDecl | presetDecl;
useDecl         : USE name;
workloadUse     : WORKLOAD name (ASSIGN name)? arguments?;
factorDecl      : FACTOR factorName (IN value)? factorClause*;
factorClause    : BASELINE value | WHEN condition;
measureDecl     : MEASURE words;
compareDecl     : COMPARE word ASSIGN condition OVER overFactors (AGAINST value)? (PARTIAL | ALLOW word)?;
overFactors     : (STAR | factorNames) (WHERE condition)?;
controlDecl     : CONTROL word ASSIGN selectors;
criterionDecl   : CRITERION word COLON claim (WHERE condition)? (WITH CONFIDENCE sum | ALWAYS)?;
claim           : clause ((AND | OR) clause)*;
clause          : (quantifier COLON)* assertion;  // quantifiers behind a word are reported: they need parentheses
quantifier      : (FOR_ALL | EXISTS | AT_LEAST LEAST sum OF) (STAR | factorNames)? (WHERE condition)?;
assertion       : LEFT_PAREN claim RIGHT_PAREN | INFEASIBLE | ABSENT LEFT_PAREN subject RIGHT_PAREN | subject (OVER (STAR | factorNames))? bound;
subject         : (number | name arguments?) selectors* ((PLUS | MINUS | STAR | SLASH | COALESCE) unary)*;  // no group first
bound           : relation sum | WITHIN sum RANGE sum (GIVE sum)? | LIKE name (WITHIN sum)?;
relation        : EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL;
confidenceDecl  : CONFIDENCE sum;
expectedDecl    : EXPECTED word ASSIGN sum (NOISE sum)?;
tableDecl       : TABLE word (OF words | BY factorNames)?;
plotDecl        : PLOT word OVER factorName (BY factorNames)?;

// ---- designs
designDecl      : DESIGN word? designBody;
designBody      : LEFT_BRACE designItem* RIGHT_BRACE;
designItem      : word (kindBody | settingValue);
kindBody        : LEFT_BRACE setting* RIGHT_BRACE;
setting         : word settingValue;
settingValue    : condition (UNTIL condition | looksClause)?;
looksClause     : LOOKS AT sum (COMMA sum)*;

// ---- presets
presetDecl      : PRESET word presetBody;
presetBody      : LEFT_BRACE presetItem* RIGHT_BRACE;
presetItem      : onlyClause | criteriaClause | criterionDecl | presetDesign | assignment;
onlyClause      : ONLY factorName IN value;
criteriaClause  : (KEEP | REMOVE) CRITERION (words | WITH CONFIDENCE | STAR);
presetDesign    : DESIGN (word? designBody | (DOT anyWord)+ ASSIGN value);
assignment      : word (DOT anyWord)* ASSIGN value;
assigned        : (DESIGN | factorName) (DOT anyWord)* ASSIGN value;

// ---- types
type            : name ((SLASH name)+ | LEFT_PAREN refinedType RIGHT_PAREN)? | tupleType | recordType;
tupleType       : LEFT_PAREN refinedType (COMMA refinedType?)* RIGHT_PAREN;
recordType      : LEFT_BRACE recordField (COMMA recordField?)* RIGHT_BRACE;
recordField     : word COLON refinedType;
refinedType     : type (IN refinement)?;
refinement      : set | sum (RANGE sum? (BY STAR? unary)?)?;

// ---- expressions, from the loosest; a set's members or a record's fields stand in braces
value           : set | condition;
set             : LEFT_BRACE argument (COMMA argument?)* RIGHT_BRACE;
condition       : conjunction (OR conjunction)*;
conjunction     : negation (AND negation)*;
negation        : NOT* comparison;
comparison      : sum rangeTail? (comparator operand | NOT? IN members)*;
rangeTail       : RANGE sum (BY STAR? unary)?;
comparator      : EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL;
operand         : set | sum;
members         : set | sum rangeTail?;
sum             : product ((PLUS | MINUS) product)*;
product         : coalescing ((STAR | SLASH) coalescing)*;
coalescing      : unary (COALESCE unary)*;
unary           : MINUS* postfix;
postfix         : primary selectors*;
primary         : number | text | TRUE | FALSE | name arguments? | group | list;
group           : LEFT_PAREN value (COMMA value?)* RIGHT_PAREN;
list            : LEFT_BRACKET (value (COMMA value?)*)? RIGHT_BRACKET;
arguments       : LEFT_PAREN (argument (COMMA argument?)*)? RIGHT_PAREN;
selectors       : LEFT_BRACKET argument (COMMA argument?)* RIGHT_BRACKET;
argument        : value (ASSIGN value)?;

// ---- names and literals
number          : NUMBER;
text            : STRING;
name            : (word | SYSTEM) (DOT anyWord)*;
factorName      : word | LEFT_PAREN words RIGHT_PAREN;
factorNames     : factorName (COMMA factorName)*;
words           : word (COMMA word)*;
word            : IDENTIFIER | AS | ORDERED | VERSION | CONFIDENCE | COMMAND | TIMEOUT | OPTIONS | INPUTS | COPY | OUTPUTS | PREPARE | BEFORE | READY
                | EXIT | RANKS | EXPECT | ESTIMATE | UNIT | LIKE | PARTIAL | ALLOW | LOOKS | AT | EXPECTED | NOISE;
anyWord         : word | IMPORT | ENUM | LET | WORKLOAD | SYSTEM | REFERENCE | PRESET | STUDY | PARAM | METRIC | REQUIRE
                | EXCLUDE | FACTOR | MEASURE | COMPARE | CONTROL | CRITERION | DESIGN | TABLE | PLOT | ONLY | REMOVE
                | SERVICE | FIND | PART | USE | BASELINE | BECAUSE | BY | OVER | AGAINST | WHEN | WHERE | WITH | WITHIN | UNTIL | FROM | IN | AND | OR | NOT
                | FOR_ALL | EXISTS | TRUE | FALSE;
