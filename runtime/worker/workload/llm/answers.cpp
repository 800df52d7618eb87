// The questions that a tuned model is asked. Every rank asks the same in the same order, since a sharded decoder
// communicates in every pass.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <llvm/Support/JSON.h>

#include "runtime/data/text/characters.h"
#include "runtime/worker/llama/greedy.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {

double Training::answered() {
  at::NoGradGuard no_grad;
  decoder_->setTraining(false);
  int64_t right = 0;
  for (const text::Question& question : questions_) {
    if (question.choices.empty()) {
      right += gives(question) ? 1 : 0;
      continue;
    }
    std::vector<const text::Sample*> choices;
    for (const text::Sample& choice : question.choices) choices.push_back(&choice);
    const TokenPass pass = feed_->send(text::collate(choices, tokenizer_->special().pad));
    const auto likeliest = decoder_->rowLogProbs(pass.input, pass.labelled).argmax().item<int64_t>();
    right += likeliest == int64_t(question.right) ? 1 : 0;
  }
  decoder_->setTraining(true);
  // Ranks may differ by rounding on a GPU; the first one's count is the result.
  const double own = ranks_.rank == 0 ? double(right) : 0;
  return ranks_.largestOf({own})[0] / double(questions_.size());
}

bool Training::gives(const text::Question& question) {
  const text::Token end = tokenizer_->special().end_of_turn;
  bool ended = false, right = false;
  // Decoding is over with the turn, or once the text can no longer become the answer.
  const auto goes_on = [&](ArrayRef<int64_t> added) {
    ended = !added.empty() && added.back() == end;
    std::vector<text::Token> tokens(added.begin(), ended ? added.end() - 1 : added.end());
    auto text = tokenizer_->decode(tokens);
    // The head may be larger than the vocabulary; such a token is no text.
    if (!text) return consumeError(text.takeError()), false;
    const StringRef so_far = StringRef(*text).ltrim(), answer = question.answer;
    if (ended) right = text::strip(json::fixUTF8(*text)) == answer;
    const bool may_become = answer.starts_with(so_far) || so_far.rtrim() == answer;
    return !ended && may_become && int64_t(question.prompt.size() + added.size()) < parameters_.max_length;
  };
  const auto agree = [&](int64_t token) {
    return int64_t(ranks_.largestOf({ranks_.rank == 0 ? double(token) : 0})[0]);
  };
  const std::vector<int64_t> prompt(question.prompt.begin(), question.prompt.end());
  llama::greedy(*decoder_, prompt, goes_on, agree);
  return right;
}

}  // namespace expc::workload::llm
