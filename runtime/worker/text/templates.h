#pragma once

// What stands around a row's text, and which of its columns are read.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/worker/text/conversation.h"

namespace expc::text {

/// As stdlib/llm.exp names them.
enum class Template { Instruct, Grammar, Summarize, Plain };

const char* nameOf(Template kind);

/// Whether the recipes learn the prompt too: Alpaca's do, the others learn answers only.
bool learnsPrompt(Template kind);

/// The column with the answer ("output", "summary"); empty for `plain`.
llvm::StringRef answerColumn(Template kind);

/// The text of a column. Errors: missing, or no text.
llvm::Expected<std::string> textOf(const llvm::json::Object& row, llvm::StringRef column);

/// The user's message of a row of instruct, grammar or summarize. Errors name the column.
llvm::Expected<Message> promptOf(Template kind, const llvm::json::Object& row);

/// A list of {"role": …, "content": …} in a column of a row of `plain`, whatever order they have.
llvm::Expected<Conversation> messagesOf(const llvm::json::Object& row, llvm::StringRef column);

}  // namespace expc::text
