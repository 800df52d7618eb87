// Checks conversations and encodes them in the layout of Llama 3's chat template, as torchtune's
// Llama3Tokenizer.tokenize_messages does.

#include "runtime/data/text/conversation.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <iterator>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/data/text/characters.h"

namespace expc::text {
namespace {

/// Appends the tokens of one part of a message. Invalid UTF-8 is repaired first, since strip() needs valid text.
Error encodePart(const Tokenizer& tokenizer, const std::string& part, bool exact, std::vector<Token>& out) {
  if (exact) return tokenizer.encode(part, out);
  if (json::isUTF8(part)) return tokenizer.encode(strip(part), out);
  const std::string repaired = json::fixUTF8(part);
  return tokenizer.encode(strip(repaired), out);
}

/// Appends header, body and end of turn of a message.
Error appendMessage(const Tokenizer& tokenizer, const Message& message, std::vector<Token>& out) {
  const SpecialTokens& special = tokenizer.special();
  out.push_back(special.start_header);
  TRY(tokenizer.encode(nameOf(message.role), out));
  out.push_back(special.end_header);
  TRY(tokenizer.encode("\n\n", out));
  for (const std::string& part : message.parts) TRY(encodePart(tokenizer, part, message.exact, out));
  out.push_back(special.end_of_turn);
  return Error::success();
}

}  // namespace

const char* nameOf(Role role) {
  static constexpr const char* kNames[] = {"system", "user", "assistant", "ipython"};
  return kNames[size_t(role)];
}

std::optional<std::string> problemOf(const Conversation& conversation) {
  if (conversation.size() < 2)
    return fmt::format("a conversation of {}; a question and an answer are needed",
                       base::counted(conversation.size(), "message"));
  // Roles are checked in order, each against the message before it.
  bool answered = false;
  for (size_t i = 0; i < conversation.size(); ++i) {
    const Role role = conversation[i].role;
    const bool after_user = i > 0 && conversation[i - 1].role == Role::User;
    const bool after_tool = i > 0 && conversation[i - 1].role == Role::Tool;
    const bool after_assistant = i > 0 && conversation[i - 1].role == Role::Assistant;
    if (role == Role::System && i > 0) return fmt::format("message {} is the system's; only the first may be", i + 1);
    if (role == Role::Tool && !after_tool && !after_assistant)
      return fmt::format("message {} is a tool's, but follows no call", i + 1);
    if (role == Role::Assistant && !after_user && !after_tool)
      return fmt::format("message {} is the assistant's, but follows none of the user", i + 1);
    if (role == Role::User && after_user) return fmt::format("messages {} and {} are both the user's", i, i + 1);
    answered |= role == Role::Assistant;
  }
  if (!answered) return "no message is the assistant's, so there is nothing to learn";
  return std::nullopt;
}

Expected<Sample> makeSample(const Tokenizer& tokenizer, const Conversation& conversation, size_t most) {
  Sample sample;
  const bool weighted =
      std::ranges::any_of(conversation, [](const Message& message) { return !message.masked && message.weight != 1; });
  if (weighted) sample.weights.push_back(1);
  sample.tokens.push_back(tokenizer.special().begin_of_text);
  sample.labels.push_back(kMasked);
  for (const Message& message : conversation) {
    const size_t before = sample.size();
    TRY(appendMessage(tokenizer, message, sample.tokens));
    if (message.masked)
      sample.labels.resize(sample.size(), kMasked);
    else
      sample.labels.insert(sample.labels.end(), sample.tokens.begin() + ptrdiff_t(before), sample.tokens.end());
    if (weighted) sample.weights.resize(sample.size(), message.weight);
    // Messages beyond the cut need no tokens.
    if (most > 0 && sample.size() >= most) break;
  }
  sample.tokens.push_back(tokenizer.special().end_of_text);
  sample.labels.push_back(kMasked);
  if (weighted) sample.weights.push_back(1);
  // A text that is cut still ends in end_of_text, so that every sample ends the same way.
  if (most > 0 && sample.size() > most) {
    sample.cut = true;
    sample.tokens.resize(most);
    sample.labels.resize(most);
    if (weighted) sample.weights.resize(most);
    sample.tokens.back() = tokenizer.special().end_of_text;
    sample.labels.back() = kMasked;
  }
  return sample;
}

}  // namespace expc::text
