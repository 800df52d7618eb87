#pragma once

// Rows of text as a study names them, made into conversations and those into tokens.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/text/conversation.h"
#include "runtime/data/text/rows.h"

namespace expc::text {

/// What stands around a row's text, and which of its columns are read; as stdlib/llm.exp names them.
enum class Template { Instruct, Grammar, Summarize, Plain };
const char* nameOf(Template kind);
/// The column with the answer ("output", "summary"); empty for `plain`.
llvm::StringRef answerColumn(Template kind);
/// The user's message of a row of instruct, grammar or summarize. Errors name the column.
llvm::Expected<Message> promptOf(Template kind, const llvm::json::Object& row);

struct DatasetOptions {
  /// A file of rows, or a folder with one for each template, called as the template is.
  std::string path;
  Template kind = Template::Instruct;
  /// Whether two answers a row are wanted, for dpo.
  bool pairs = false;
  /// Rows taken, from the start; 0: all.
  int64_t row_limit = 0;
};

struct Example {
  Conversation chosen;
  Conversation rejected;  // of pairs only
};

struct Dataset {
  std::string origin;  // the file
  std::vector<Example> examples;
  /// Rows had one answer, and the rejected one is another row's (readDataset).
  bool borrowed_answers = false;
};

/// Columns: instruct has instruction, output and perhaps input; grammar input and output; summarize dialogue and
/// summary; plain messages. Pairs have, instead of the answer, chosen and rejected: texts, of plain conversations (or,
/// beside a text called prompt, answers). Where rows of instruct, grammar or summarize have one answer, the rejected
/// answer of a row is that of the next row whose answer differs, the first following the last: fluent, as long as
/// answers of the set are, and wrong for the question. Columns and fields of messages that say what is learnt or seen
/// (weight, tool_calls, system, …) and are not applied are refused, unless they change nothing. Errors name file, row
/// and column.
llvm::Expected<Dataset> readDataset(const DatasetOptions& options);

/// The same for an open reader.
llvm::Expected<Dataset> readDataset(RowReader& rows, const DatasetOptions& options);

}  // namespace expc::text
