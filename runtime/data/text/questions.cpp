#include "runtime/data/text/questions.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/text/characters.h"

namespace expc::text {
namespace {

/// Encodes a conversation with another last answer. Its labels in front of the answer's text are masked.
Expected<Sample> answered(const Tokenizer& tokenizer, Conversation conversation, const std::string& answer,
                          size_t prompt) {
  conversation.back().parts = {answer};
  conversation.back().masked = false;
  auto sample = TRY(makeSample(tokenizer, conversation, 0));
  std::fill_n(sample.labels.begin(), std::min(prompt, sample.size()), kMasked);
  return sample;
}

}  // namespace

Expected<Question> questionOf(const Tokenizer& tokenizer, const Example& example, size_t most) {
  const Conversation& conversation = example.chosen;
  if (conversation.back().role != Role::Assistant) return failure("its last message is not an answer");
  Question question;
  question.answer = strip(conversation.back().parts.front()).str();
  // An empty answer's tokens end in end_of_turn and end_of_text; all before them is the prompt.
  auto open = TRY(answered(tokenizer, conversation, "", 0));
  question.prompt.assign(open.tokens.begin(), open.tokens.end() - 2);
  const auto too_long = [&](size_t tokens) {
    return failure("it has {} tokens, and max_length is {}: raise max_length", tokens, most);
  };
  if (most > 0 && question.prompt.size() + 1 >= most) return too_long(question.prompt.size() + 1);
  for (const std::string& choice : example.choices) {
    auto sample = TRY(answered(tokenizer, conversation, choice, question.prompt.size()));
    if (most > 0 && sample.size() > most) return too_long(sample.size());
    question.choices.push_back(std::move(sample));
  }
  if (example.choices.empty()) return question;
  const auto right =
      llvm::find_if(example.choices, [&](const std::string& one) { return strip(one) == question.answer; });
  if (right == example.choices.end()) return failure("its answer is not one of 'choices'");
  question.right = size_t(right - example.choices.begin());
  return question;
}

Expected<std::vector<Question>> readQuestions(const TokenRowsOptions& options, const Tokenizer& tokenizer) {
  auto dataset = TRY(prefixed("questions", readDataset(options.data)));
  std::vector<Question> questions;
  for (int64_t row = 1; const Example& example : dataset.examples) {
    auto question = questionOf(tokenizer, example, size_t(options.max_length));
    if (!question) return failure("questions: {}: row {}: {}", dataset.origin, row, question.takeError());
    questions.push_back(std::move(*question));
    ++row;
  }
  return questions;
}

}  // namespace expc::text
