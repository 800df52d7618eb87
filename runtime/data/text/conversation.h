#pragma once

// Conversations, and the tokens and labels that a model learns from them. The layout is that of Llama 3's chat
// template, masked and cut as torchtune's recipes do it, so that losses can be compared.

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/tokenizer.h"

namespace expc::text {

/// The label of a token that is not learnt, torch's ignore_index.
inline constexpr Token kMasked = -100;

/// The author of a message. A tool's message is the result of a call.
enum class Role { System, User, Assistant, Tool };
/// The role as it is written in headers: "system", "user", "assistant", "ipython".
const char* nameOf(Role role);

/// One turn of a conversation.
struct Message {
  Role role = Role::User;
  /// The text in parts. Each part is stripped of white space and encoded by itself, as the recipes do, so no token
  /// spans two of them.
  std::vector<std::string> parts;
  /// Whether no token of the message is learnt; otherwise all are, including its header and the end of its turn.
  bool masked = false;
  /// Whether the parts are encoded as they are, without stripping.
  bool exact = false;
  /// How much each token counts in a loss, if it is learnt; above 0.
  double weight = 1;
};
using Conversation = std::vector<Message>;

/// The reason why nothing can be learnt from a conversation: fewer than two messages, a system message that is not
/// first, an assistant's that does not follow a user's or a tool's, a tool's that follows none of these, two of the
/// user's in a row, none of the assistant's. Nothing if it is fine.
std::optional<std::string> problemOf(const Conversation& conversation);

/// A text as tokens, with a label for each: the token itself or kMasked. The loss compares labels from the second on
/// with the logits one position before.
struct Sample {
  std::vector<Token> tokens, labels;
  bool cut = false;             // it was longer than allowed
  std::vector<double> weights;  // how much each label counts in a loss; empty: all count 1

  size_t size() const { return tokens.size(); }
};

/// Encodes a conversation: begin_of_text; header, body and end of turn of each message; end_of_text. `most`, if above
/// 0, is the largest number of tokens (at least 2): the rest is cut off, and the last token becomes end_of_text. The
/// first and the last token are masked.
Expected<Sample> makeSample(const Tokenizer& tokenizer, const Conversation& conversation, size_t most);

}  // namespace expc::text
