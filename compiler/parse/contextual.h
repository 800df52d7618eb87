#pragma once

#include <string_view>
#include <vector>

#include "compiler/parse/cst.h"

namespace expc::parse {

/// A token with its text.
struct Word {
  Token token;
  std::string_view text;
};

/// Settles what words are by their neighbours, where a token alone does not tell, in all tokens of a file:
/// - `infeasible` behind a colon of a criterion is a claim of its own, unless an expression goes on behind it;
/// - `always` and `give` behind the end of a criterion's bound or band are its clauses, unless they are assigned to;
/// - `of` behind the first word of a table says of what it describes something;
/// - `keep` before `criterion` begins a statement of a preset, unless it is a value;
/// - `workload` in a place of a name is the factor that several workloads of a study make.
void settleWords(std::vector<Word>& words);

}  // namespace expc::parse
