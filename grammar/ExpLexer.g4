// Tokens of .exp files. The characters are the file's bytes (the reader has checked that they are UTF-8), so that every
// position is a byte offset. Error texts never come from here: what fits no rule becomes UNEXPECTED and the parser's own.
lexer grammar ExpLexer;

// Identifiers that are words of the language by what stands beside them: the token reader finds them (settleWords in
// compiler/parse/antlr_bridge.cpp).
tokens { INFEASIBLE, ABSENT, ALWAYS, GIVE, KEEP, OF, AT_LEAST, LEAST, INSIDE }  // GIVE: an old spelling

// Heads of statements: reserved.
IMPORT    : 'import';
ENUM      : 'enum';
LET       : 'let';
WORKLOAD  : 'workload';
SYSTEM    : 'system';
REFERENCE : 'reference';
PRESET    : 'preset';
STUDY     : 'study';
PARAM     : 'param';
METRIC    : 'metric';
REQUIRE   : 'require';
EXCLUDE   : 'exclude';
FACTOR    : 'factor';
MEASURE   : 'measure';
COMPARE   : 'compare';
CONTROL   : 'control';
CRITERION : 'criterion';
DESIGN    : 'design';
TABLE     : 'table';
PLOT      : 'plot';
ONLY      : 'only';
PART      : 'part';
USE       : 'use';
SERVICE   : 'service';
REMOVE    : 'remove';

// Heads of statements to come: reserved.
FIND : 'find';

// Words that can follow an expression, and the expression's own: reserved.
BASELINE : 'baseline';
BECAUSE  : 'because';
BY       : 'by';
OVER     : 'over';
AGAINST  : 'against';
WHEN     : 'when';
WHERE    : 'where';
WITH     : 'with';
WITHIN   : 'within';
UNTIL    : 'until';
FROM     : 'from';
IN       : 'in';
AND      : 'and';
OR       : 'or';
NOT      : 'not';
FOR_ALL  : 'forall';
EXISTS   : 'exists';
TRUE     : 'true';
FALSE    : 'false';

// Words that mean something in one place only and are names elsewhere (rule `word`).
AS         : 'as';
ORDERED    : 'ordered';
VERSION    : 'version';
CONFIDENCE : 'confidence';
COMMAND    : 'command';
TIMEOUT    : 'timeout';
OPTIONS    : 'options';
INPUTS     : 'inputs';
COPY       : 'copy';
OUTPUTS    : 'outputs';
PREPARE    : 'prepare';
BEFORE     : 'before';
READY      : 'ready';
EXIT       : 'exit';
RANKS      : 'ranks';
EXPECT     : 'expect';
ESTIMATE   : 'estimate';
UNIT       : 'unit';
LIKE       : 'like';
PARTIAL    : 'partial';
ALLOW      : 'allow';  // an old spelling
LOOKS      : 'looks';
AT         : 'at';
EXPECTED   : 'expected';
NOISE      : 'noise';

LEFT_BRACE    : '{';
RIGHT_BRACE   : '}';
LEFT_PAREN    : '(';
RIGHT_PAREN   : ')';
LEFT_BRACKET  : '[';
RIGHT_BRACKET : ']';
COMMA         : ',';
COLON         : ':';
RANGE         : '..';
DOT           : '.';
EQUAL         : '==';
NOT_EQUAL     : '!=';
LESS_EQUAL    : '<=';
GREATER_EQUAL : '>=';
LESS          : '<';
GREATER       : '>';
ASSIGN        : '=';
PLUS          : '+';
MINUS         : '-';
STAR          : '*';
SLASH         : '/';
COALESCE      : '??';

// A number and its unit. `1..4` is a range, since a point belongs to a number only before a digit. A unit's `/word` that is
// no time (`80GiB/gpus`) is cut off again by the token reader.
NUMBER : DIGIT+ ('.' DIGIT+)? ([eE] [+-]? DIGIT+)? SUFFIX?;

STRING              : '"' CHARACTER* '"';
UNTERMINATED_STRING : '"' CHARACTER*;

IDENTIFIER : LETTER (LETTER | DIGIT)*;
// The token reader makes a name of it before a bracket: `p99.9(latency)`.
PERCENTILE : 'p' DIGIT+ '.' DIGIT+;

DOC        : '///' ~[\r\n]* -> channel(HIDDEN);
COMMENT    : '//' ~[\r\n]* -> channel(HIDDEN);
WHITESPACE : [ \t\r\n]+ -> skip;

// What begins no token: what is meant by 'text' and by a comment with # as one, other characters as long as they go on.
UNEXPECTED : '\'' ~['\r\n]* '\'' | '#' ~[\r\n]* | STRANGE+ | .;

fragment DIGIT     : [0-9];
fragment LETTER    : [a-zA-Z_];
fragment SUFFIX    : '%' | [a-zA-Z] (LETTER | DIGIT)* ('/' [a-zA-Z] (LETTER | DIGIT)*)?;
fragment STRANGE   : [$%&@\\^`|~] | [\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F-\u00FF];
fragment CHARACTER : '\\' ~[\r\n] | ~["\\\r\n];
