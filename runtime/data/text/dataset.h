#pragma once

// Rows of a data set as conversations: which columns a template reads, the text around them, and the rules for pairs of
// answers. The wording of prompts is torchtune's, to the letter, since it decides the tokens.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/conversation.h"
#include "runtime/data/text/rows.h"

namespace expc::text {

/// The form of rows, as stdlib/llm.exp names it: which columns are read, and the prompt around them.
enum class Template { Instruct, Grammar, Summarize, Plain, Chat };
/// The template's name, as a study writes it.
const char* nameOf(Template kind);
/// The template of that name, if there is one.
std::optional<Template> templateNamed(StringRef name);
/// The column with the answer ("output", "summary"); "" for `plain`, whose rows are whole conversations.
StringRef answerColumn(Template kind);
/// The user's message of a row of instruct, grammar or summarize. Errors name the column.
Expected<Message> promptOf(Template kind, const json::Object& row);

/// The source of rows, and how they are read.
struct DatasetOptions {
  /// A file of rows, or a folder with a file for each template, named like the template.
  std::string path;
  Template kind = Template::Instruct;
  /// Whether each row must give two answers, for preference training (dpo).
  bool pairs = false;
  /// Whether a column `choices`, an array of texts, is read.
  bool choices = false;
  /// The number of rows that are taken from the start; 0: all.
  int64_t row_limit = 0;
  /// The bytes of rows after which no further row is read; 0: no limit.
  uint64_t byte_limit = 0;
  /// The column that says which rows are held out; "": no row is.
  std::string part_column = {};
};

/// One row: a conversation, or a pair of them.
struct Example {
  Conversation chosen;
  Conversation rejected;                  // for pairs only
  std::vector<std::string> choices = {};  // the row's column `choices`, if DatasetOptions::choices asks for it
  /// How much the row counts among others; 0 if it is switched off. The messages' weights contain it, unless the row
  /// is a pair.
  double weight = 1;
};

/// All rows of a file.
struct Dataset {
  std::string origin;  // the file's name
  std::vector<Example> examples;
  std::vector<bool> held_out;  // for each example, by the column of parts; empty without one
  /// Whether rows had one answer each, so that another row's answer stands in as the rejected one.
  bool borrowed_answers = false;
  /// Whether DatasetOptions::byte_limit ended the reading.
  bool in_part = false;
};

/// Reads a file of rows.
///
/// Columns: instruct has instruction, output and perhaps input; grammar input and output; summarize dialogue and
/// summary; plain and chat messages. Chat writes them as Llama 3.1's chat template does, with the row's tools, calls
/// and results. Pairs have chosen and rejected instead of the answer: texts, or for plain whole
/// conversations (with a column prompt, also answers to it).
///
/// If rows of instruct, grammar or summarize have one answer and pairs are wanted, the rejected answer of a row is that
/// of the next row whose answer differs; the first row follows the last. Such an answer is fluent, as long as the set's
/// answers are, and wrong for the question.
///
/// With a column of parts, rows of the part train are trained on, those of validation (valid, val, dev, eval; or true,
/// 1) are held out, and those of test are left out.
///
/// A message or row that says that it is not learnt (weight 0, train false, …) is masked, and `weight` or `loss_weight`
/// say how much it counts; in a pair only the row's may be a fraction. A file whose rows are all masked is an error. A
/// text in `system` becomes the first message. Other fields that decide what is learnt or seen (loss_scale 2,
/// reasoning, …) are refused unless they change nothing: ignoring them would train on something else than the file
/// says. Errors name file, row and column.
Expected<Dataset> readDataset(const DatasetOptions& options);

/// A row that was refused: its number, counted from 1, and why.
struct RowFault {
  int64_t row = 0;
  std::string why;
};

/// Reads rows from an open reader. With `faults`, rows that are refused are listed there and left out, and the result
/// may be empty. The reading ends at a fault behind which nobody can tell where the next row begins.
Expected<Dataset> readDataset(RowReader& rows, const DatasetOptions& options, std::vector<RowFault>* faults = nullptr);
/// Opens the file of rows at a path: the file itself, or the one of the template in a folder.
Expected<std::unique_ptr<RowReader>> openRows(const DatasetOptions& options);

}  // namespace expc::text
