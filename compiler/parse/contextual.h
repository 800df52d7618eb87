#pragma once

#include <string_view>

#include "compiler/parse/cst.h"

namespace expc::parse {

/// Settles what a word is by its neighbours, where a token alone does not tell. Asked for every token, in order:
/// - `infeasible` behind a colon of a criterion is a claim of its own, unless an expression goes on behind it;
/// - `always` and `give` behind the end of a criterion's bound or band are its clauses, unless they are assigned to;
/// - `keep` before `criterion` begins a statement of a preset, unless it is a value;
/// - `workload` in a place of a name is the factor that several workloads of a study make.
class ContextualWords {
 public:
  Token settle(Token previous, Token token, std::string_view text, Token next);

 private:
  Token head_ = Token::EndOfFile;  // of the statement
};

}  // namespace expc::parse
