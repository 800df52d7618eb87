#pragma once

// Rows as questions to a tuned model: the prompt up to where the answer begins, and the right answer, which is to be
// generated or chosen among several.

#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/token_rows.h"

namespace expc::text {

/// A row whose answer a model is asked for.
struct Question {
  std::vector<Token> prompt;    // with the header of the answer
  std::string answer;           // without white space around it
  std::vector<Sample> choices;  // only their answers and ends of turn are labelled; empty: the answer is generated
  size_t right = 0;             // the right one of the choices
};

/// Makes of a row the question about its last answer. A row may have a column `choices`, a list of texts with the
/// answer among them. An error is a last message that is not the assistant's, an answer that is not among the choices,
/// or a text of more than `most` tokens; 0: no limit.
Expected<Question> questionOf(const Tokenizer& tokenizer, const Example& example, size_t most);

/// Reads every row of a file as a question. Errors name file and row.
Expected<std::vector<Question>> readQuestions(const TokenRowsOptions& options, const Tokenizer& tokenizer);

}  // namespace expc::text
