#include "runtime/worker/text/templates.h"

#include <fmt/format.h>

#include "runtime/plan/json.h"

namespace expc::text {
namespace {

constexpr size_t kMostMessages = 10'000;

struct Traits {
  const char *name, *prompt, *answer;  // the last two are columns
};
const Traits& traitsOf(Template kind) {
  static constexpr Traits kTraits[] = {{"instruct", "instruction", "output"},
                                       {"grammar", "input", "output"},
                                       {"summarize", "dialogue", "summary"},
                                       {"plain", "", ""}};
  return kTraits[static_cast<size_t>(kind)];
}

std::string columnsOf(const llvm::json::Object& row) {
  std::string names;
  size_t shown = 0;
  for (const auto& [key, value] : row) {
    if (++shown > 12) return names + ", …";
    names += fmt::format("{}{}", names.empty() ? "" : ", ", llvm::StringRef(key).take_front(40).str());
  }
  return names.empty() ? "none" : names;
}

llvm::Expected<Message> messageOf(const llvm::json::Value& value) {
  const auto* object = value.getAsObject();
  if (object == nullptr)
    return failure("it is {}, expected an object with role and content", plan::kindName(value).str());
  auto role = textOf(*object, "role");
  if (!role) return role.takeError();
  auto content = textOf(*object, "content");
  if (!content) return content.takeError();
  Message message;
  message.parts = {std::move(*content)};
  for (const Role known : {Role::System, Role::User, Role::Assistant}) {
    message.role = known;
    if (*role == nameOf(known)) return message;
  }
  return failure("its role is '{}'; system, user and assistant are supported",
                 llvm::StringRef(*role).take_front(40).str());
}

}  // namespace

const char* nameOf(Template kind) { return traitsOf(kind).name; }

bool learnsPrompt(Template kind) { return kind == Template::Instruct; }

llvm::StringRef answerColumn(Template kind) { return traitsOf(kind).answer; }

llvm::Expected<std::string> textOf(const llvm::json::Object& row, llvm::StringRef column) {
  const auto* value = row.get(column);
  if (value == nullptr) return failure("there is no column '{}' (there are: {})", column.str(), columnsOf(row));
  const auto text = value->getAsString();
  if (!text) return failure("'{}' is {}, expected a string", column.str(), plan::kindName(*value).str());
  return text->str();
}

llvm::Expected<Message> promptOf(Template kind, const llvm::json::Object& row) {
  Message message;
  auto text = textOf(row, traitsOf(kind).prompt);
  if (!text) return text.takeError();
  if (kind == Template::Grammar) {
    message.parts = {"Correct this to standard English: ", *text, "\n---\nCorrected: "};
  } else if (kind == Template::Summarize) {
    message.parts = {"Summarize this dialogue:\n", *text, "\n---\nSummary:\n"};
  } else {
    const auto* input = row.get("input");
    auto more = input == nullptr || input->getAsNull() ? llvm::Expected<std::string>("") : textOf(row, "input");
    if (!more) return more.takeError();
    message.parts = {more->empty() ? fmt::format("Below is an instruction that describes a task. Write a response that "
                                                 "appropriately completes the request.\n\n"
                                                 "### Instruction:\n{}\n\n### Response:\n",
                                                 *text)
                                   : fmt::format("Below is an instruction that describes a task, paired with an input "
                                                 "that provides further context. Write a response "
                                                 "that appropriately completes the request.\n\n### "
                                                 "Instruction:\n{}\n\n### Input:\n{}\n\n### Response:\n",
                                                 *text, *more)};
  }
  return message;
}

llvm::Expected<Conversation> messagesOf(const llvm::json::Object& row, llvm::StringRef column) {
  const auto* value = row.get(column);
  if (value == nullptr) return failure("there is no column '{}' (there are: {})", column.str(), columnsOf(row));
  const auto* list = value->getAsArray();
  if (list == nullptr)
    return failure("'{}' is {}, expected an array of messages; CSV has none, so conversations are in JSON or JSONL",
                   column.str(), plan::kindName(*value).str());
  if (list->size() > kMostMessages)
    return failure("'{}' has {} messages, at most {} are taken", column.str(), list->size(), kMostMessages);
  Conversation conversation;
  for (size_t i = 0; i < list->size(); ++i) {
    auto message = messageOf((*list)[i]);
    if (!message) return failure("message {} of '{}': {}", i + 1, column.str(), llvm::toString(message.takeError()));
    conversation.push_back(std::move(*message));
  }
  return conversation;
}

}  // namespace expc::text
