#pragma once

// Conversations, and the tokens and labels that a model learns from them.

#include <llvm/Support/Error.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/data/text/tokenizer.h"

namespace expc::text {

/// The label of a token that is not learnt.
inline constexpr Token kMasked = -100;

enum class Role { System, User, Assistant };
const char* nameOf(Role role);

struct Message {
  Role role = Role::User;
  /// Each is stripped of white space and encoded on its own, as the recipes do, so nothing stands between two of them.
  std::vector<std::string> parts;
  /// Whether none of its tokens is learnt; else all are, header and end of turn too.
  bool masked = false;
};
using Conversation = std::vector<Message>;

/// What keeps it from being one to learn from: fewer than two messages, a system message that is not first, an
/// assistant's that does not follow a user's, two of a user in a row.
std::optional<std::string> problemOf(const Conversation& conversation);

/// Tokens and, of the same length, labels: the token itself or kMasked. The loss compares the labels from 1 on with the
/// logits before.
struct Sample {
  std::vector<Token> tokens, labels;
  bool cut = false;  // longer than it may be

  size_t size() const { return tokens.size(); }
};

/// begin_of_text; for each message its header, body and end of turn; end_of_text. `most` > 0 is the longest it may be
/// (at least 2): what is beyond is cut off, and the last token is end_of_text still. First and last are masked.
llvm::Expected<Sample> makeSample(const Tokenizer& tokenizer, const Conversation& conversation, size_t most);

}  // namespace expc::text
