// Rows into conversations. A row comes as a JSON object, whatever its file's format; the Reader makes an Example of it
// by the template, and masks the messages that are not learnt. Only the system's message and, except for instruct, the
// user's are masked.
//
// Files come from users: each error says which column or message is at fault and what was expected.

#include "runtime/data/text/dataset.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <optional>

#include "runtime/base/failure.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/data/text/characters.h"
#include "runtime/data/text/raw_json.h"

namespace expc::text {
namespace {

constexpr size_t kMostMessages = 10'000;  // in one row

/// A template's name, and the columns of its prompt and answer.
struct Traits {
  const char *name, *prompt, *answer;
};
constexpr Traits kTraits[] = {{"instruct", "instruction", "output"},
                              {"grammar", "input", "output"},
                              {"summarize", "dialogue", "summary"},
                              {"plain", "", ""},
                              {"chat", "", ""}};
const Traits& traitsOf(Template kind) { return kTraits[size_t(kind)]; }

/// The error for a column that a row does not have. It names the row's own, twelve at most, and a template that reads
/// them.
Error unknown(const json::Object& row, StringRef column) {
  std::vector<std::string> names;
  for (const auto& [key, value] : row) names.push_back(StringRef(key).take_front(40).str());
  std::string hint;
  if (llvm::any_of(kTraits, [&](const Traits& one) { return column == one.prompt || column == one.answer; })) {
    if (row.get("messages")) hint = "; templates chat and plain read 'messages'";
    for (const Traits& one : kTraits)
      if (*one.prompt && row.get(one.prompt) && row.get(one.answer))
        hint = fmt::format("; template {} reads '{}' and '{}'", one.name, one.prompt, one.answer);
  }
  return failure("unknown column '{}' (columns: {}){}", column, names.empty() ? "none" : base::firstOf(names, 12),
                 hint);
}

/// The text of a column; an error if it is missing or no text.
Expected<std::string> textOf(const json::Object& row, StringRef column) {
  const auto* value = row.get(column);
  if (!value) return unknown(row, column);
  const auto text = value->getAsString();
  if (!text) return failure("'{}' is {}, expected a string", column, base::kindName(*value));
  return text->str();
}

/// Fields by which other programs say what is learnt and what a model sees. kWeights hold numbers, kLearnt and
/// kNotLearnt are switches; the others hold content.
constexpr llvm::StringLiteral kWeights[] = {"weight", "loss_weight"},
                              kLearnt[] = {"loss",  "loss_scale", "loss_mask", "train",
                                           "learn", "training",   "trainable"},
                              kNotLearnt[] = {"mask", "masked"},
                              kOfMessages[] = {"tool_calls", "tool_call", "function_call",     "tools",   "functions",
                                               "refusal",    "reasoning", "reasoning_content", "thinking"},
                              kOfRows[] = {"tools", "functions", "history"},
                              kSeen[] = {"image", "images", "video", "videos", "audio", "audios"};

/// The number that a value is or means (true is 1), if any. Cells of CSV are texts, so texts count too.
std::optional<double> numberIn(const json::Value& value) {
  if (const auto flag = value.getAsBoolean()) return *flag ? 1 : 0;
  const StringRef text = value.getAsString().value_or("");
  if (text.equals_insensitive("true")) return 1;
  if (text.equals_insensitive("false")) return 0;
  if (double read = 0; !text.getAsDouble(read)) return read;
  return value.getAsNumber();
}

/// Whether a value means yes (1), no (0) or neither (-1).
int saysYes(const json::Value& value) {
  const auto number = numberIn(value);
  return number == 1 ? 1 : number == 0 ? 0 : -1;
}

/// Whether a value is empty: null, "", [] or {}.
bool isNothing(const json::Value& value) {
  const auto* list = value.getAsArray();
  const auto* object = value.getAsObject();
  return value.getAsNull() || (list && list->empty()) || (object && object->empty()) ||
         value.getAsString() == StringRef("");
}

/// The error of a field's value.
Error refused(StringRef name, const json::Value& value, const std::string& why) {
  const std::string text = canonicalJson(value);
  return failure("'{}' is {}, {}", name, text.size() > 40 ? json::fixUTF8(text.substr(0, 40)) + "…" : text, why);
}

/// How much a message or row counts by its fields: 0 if a switch says that it is not learnt, else the product of its
/// weights. With `whole` weights are 0 or 1. Refuses every other field that decides what is learnt or seen, unless its
/// value changes nothing. `own` are the fields that matter at this level, except `applied`, which the caller applies.
Expected<double> weightOf(const json::Object& object, ArrayRef<llvm::StringLiteral> own, StringRef applied,
                          bool whole) {
  double weight = 1;
  for (const auto& [key, value] : object) {
    const StringRef name = key;
    if (isNothing(value)) continue;
    if (is_contained(kWeights, name)) {
      // Within these bounds sums in fp32 are exact enough; a comparison with NaN is false.
      const double number = numberIn(value).value_or(-1);
      if (number != 0 && !(number >= 1e-4 && number <= 1e4))
        return refused(name, value, "expected 0 or a number from 0.0001 to 10000; only ratios of weights count");
      if (whole && saysYes(value) < 0)
        return refused(name, value, "but in a pair a message is learnt (1) or not (0); give the row the weight");
      weight *= number;
      continue;
    }
    const bool yes = is_contained(kLearnt, name), no = is_contained(kNotLearnt, name);
    const int says = yes || no ? saysYes(value) : -1;
    if (says == (yes ? 0 : 1)) weight = 0;
    const bool known = yes || no || is_contained(own, name) || is_contained(kSeen, name);
    if (!known || name == applied || says >= 0) continue;
    return refused(name, value, "which expc does not support; remove the field, or the row");
  }
  return weight;
}

/// The part of a data set that a row belongs to.
enum class RowPart { Train, HeldOut, LeftOut };

/// The part that a row's column names.
Expected<RowPart> partOf(const json::Object& row, StringRef column) {
  const auto* value = row.get(column);
  if (!value) return unknown(row, column);
  if (const int says = saysYes(*value); says >= 0) return says == 1 ? RowPart::HeldOut : RowPart::Train;
  const std::string name = value->getAsString().value_or("").lower();
  if (name == "train" || name == "test") return name == "train" ? RowPart::Train : RowPart::LeftOut;
  constexpr llvm::StringLiteral kHeldOut[] = {"validation", "valid", "val", "dev", "eval"};
  if (is_contained(kHeldOut, name)) return RowPart::HeldOut;
  return failure("'{}' is {}, expected train, validation or test, or true for a row that is held out", column,
                 json::fixUTF8(StringRef(canonicalJson(*value)).take_front(40)));
}

/// The text of a value that may be JSON within a string, as OpenAI's rows have arguments and tools.
std::string unwrapped(const json::Value* value, StringRef raw) {
  const auto text = value ? value->getAsString() : std::nullopt;
  return text && parseJson(*text) ? text->str() : raw.str();
}

/// The one call of an assistant's message, as Llama 3.1's chat template writes it. `raw` is the message's text.
Expected<std::string> callOf(const json::Object& message, StringRef raw) {
  const auto* calls = message.getArray("tool_calls");
  if (!calls || calls->size() != 1)
    return failure("'tool_calls' is not an array of one call, and Llama 3.1's chat template writes one");
  if (const auto* content = message.get("content"); content && !isNothing(*content))
    return failure(
        "it has content beside 'tool_calls', which Llama 3.1's chat template leaves out; remove one of them");
  const auto* call = (*calls)[0].getAsObject();
  const auto* function = call ? call->getObject("function") : nullptr;
  const auto name = function ? function->getString("name") : std::nullopt;
  const auto* arguments = function ? function->get("arguments") : nullptr;
  const StringRef of_function = rawValue(rawElements(rawValue(raw, "tool_calls"))[0], "function");
  const std::string text = unwrapped(arguments, rawValue(of_function, "arguments"));
  if (!name || !StringRef(text).ltrim().starts_with("{"))
    return failure("its call has no function with a name and an object of arguments");
  return fmt::format(R"({{"name": "{}", "parameters": {}}})", name->str(), asPython(text));
}

/// A message of `chat` that `plain` does not have: an assistant's call or a tool's result; nothing for another one.
Expected<std::optional<Message>> toolMessageOf(const json::Object& object, StringRef raw) {
  const StringRef role = object.getString("role").value_or("");
  const auto* calls = object.get("tool_calls");
  if (role == nameOf(Role::Assistant) && calls && !isNothing(*calls)) {
    auto text = TRY(callOf(object, raw));
    return Message{Role::Assistant, {std::move(text)}, false, true};
  }
  if (role != "tool" && role != nameOf(Role::Tool)) return std::nullopt;
  const auto* content = object.get("content");
  if (!content || content->getAsNull()) return failure("the tool's message has no content");
  // The template asks whether the content can be iterated over, which a text can: it is written in quotes.
  return Message{Role::Tool, {asPython(rawValue(raw, "content"))}, true, true};
}

/// A message: an object with role and content. `raw` is its text; `chat` says that it may call tools, `pairs` that its
/// weight is 0 or 1.
Expected<Message> messageOf(const json::Value& value, StringRef raw, bool chat, bool pairs) {
  const auto* object = value.getAsObject();
  if (!object) return failure("it is {}, expected an object with role and content", base::kindName(value));
  std::optional<Message> of_tool;
  if (chat) of_tool = TRY(toolMessageOf(*object, raw));
  Message message = of_tool.value_or(Message());
  if (!of_tool) {
    auto role = TRY(textOf(*object, "role"));
    auto content = TRY(textOf(*object, "content"));
    constexpr Role kRoles[] = {Role::System, Role::User, Role::Assistant};
    const auto* known = llvm::find_if(kRoles, [&](Role one) { return role == nameOf(one); });
    if (known == std::end(kRoles))
      return failure("its role is '{}'; system, user and assistant are supported{}", StringRef(role).take_front(40),
                     chat ? ", and tool" : "");
    message = {*known, {chat ? strip(content).str() : std::move(content)}, false, chat};
  }
  auto weight = TRY(weightOf(*object, kOfMessages, chat ? "tool_calls" : "", pairs));
  message.masked = weight == 0;
  message.weight = weight;
  return message;
}

/// The tools of a row, each as Llama 3.1's chat template writes it. `raw` is the row's text.
Expected<std::vector<std::string>> toolsOf(const json::Object& row, StringRef raw) {
  const auto* tools = row.get("tools");
  if (!tools || isNothing(*tools)) return std::vector<std::string>();
  const std::string text = unwrapped(tools, rawValue(raw, "tools"));
  std::vector<std::string> written;
  for (const StringRef tool : rawElements(text)) written.push_back(asPython(tool, 4));
  if (written.empty() && StringRef(text).ltrim().front() != '[')
    return failure("'tools' is {}, expected an array", base::kindName(*tools));
  return written;
}

/// Adds what Llama 3.1's chat template writes around the messages: a system message with the date that the template
/// states, and the tools in front of the first question. The conversation is one that problemOf() accepts.
void asChat(Conversation& conversation, const std::vector<std::string>& tools) {
  std::string system = tools.empty() ? "" : "Environment: ipython\n";
  system += "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  if (conversation.front().role == Role::System) {
    system += strip(conversation.front().parts.front());
    conversation.erase(conversation.begin());
  }
  if (!tools.empty()) {
    std::string guide =
        "Given the following functions, please respond with a JSON for a function call with its proper arguments that "
        "best answers the given prompt.\n\nRespond in the format {\"name\": function name, \"parameters\": dictionary "
        "of "
        "argument name and its value}.Do not use variables.\n\n";
    for (const std::string& tool : tools) guide += tool + "\n\n";
    std::string& question = conversation.front().parts.front();
    question = guide + question;
  }
  conversation.insert(conversation.begin(), Message{Role::System, {std::move(system)}, true, true});
}

/// The list of messages in a column of a row of `plain` or `chat`, whose text is `raw`. Roles are checked one by one,
/// their order by problemOf().
Expected<Conversation> messagesOf(const json::Object& row, StringRef raw, StringRef column, bool chat, bool pairs) {
  const auto* value = row.get(column);
  if (!value) return unknown(row, column);
  const auto* list = value->getAsArray();
  if (!list)
    return failure(
        "'{}' is {}, expected an array of messages; CSV has no arrays, so write conversations as JSON or JSONL", column,
        base::kindName(*value));
  if (list->size() > kMostMessages)
    return failure("'{}' has {} messages, at most {} are allowed", column, list->size(), kMostMessages);
  Conversation conversation;
  const std::vector<StringRef> texts = chat ? rawElements(rawValue(raw, column)) : std::vector<StringRef>();
  for (size_t i = 0; i < list->size(); ++i) {
    auto message = messageOf((*list)[i], i < texts.size() ? texts[i] : "", chat, pairs);
    if (!message) return failure("message {} of '{}': {}", i + 1, column, message.takeError());
    conversation.push_back(std::move(*message));
  }
  return conversation;
}

/// The file in a folder that has rows of this template. Two of them are an error, since a choice would be arbitrary.
Expected<std::string> fileOf(const std::string& folder, Template kind) {
  std::string found;
  for (const char* ending : {".jsonl", ".json", ".csv"}) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, std::string(nameOf(kind)) + ending);
    if (!llvm::sys::fs::exists(path)) continue;
    if (!found.empty())
      return failure("{} and {} are both rows of template {}; name one with file(…), or remove the other", found,
                     path.str(), nameOf(kind));
    found = path.str().str();
  }
  if (found.empty())
    return failure("{}: it has no rows of template {}: {}.jsonl, {}.json or {}.csv", folder, nameOf(kind), nameOf(kind),
                   nameOf(kind), nameOf(kind));
  return found;
}

/// Sets which messages are learnt: the assistant's unless they are switched off, the user's if `learn_prompt` says so,
/// the others never. With a weight of 0 none is, with another one each counts so many times as much.
void mask(Conversation& conversation, bool learn_prompt, double weight) {
  for (Message& message : conversation) {
    message.masked |= weight == 0 || (message.role != Role::Assistant && (message.role != Role::User || !learn_prompt));
    message.weight *= weight;
  }
}

/// Whether a message of a conversation is learnt.
bool isLearnt(const Conversation& conversation) {
  return llvm::any_of(conversation, [](const Message& message) { return !message.masked; });
}

/// Collects the examples of a file in a data set.
class Reader {
 public:
  Reader(const DatasetOptions& options, Dataset& dataset)
      : kind_(options.kind), pairs_(options.pairs), options_(options), dataset_(dataset) {}

  /// Adds a row; `raw` is its text, of JSON.
  Error add(const json::Object& row, StringRef raw) {
    raw_ = raw;
    auto weight = TRY(weightOf(row, kOfRows, isChat() ? "tools" : "", /*whole=*/false));
    const std::string& column = options_.part_column;
    RowPart part = TRY(column.empty() ? RowPart::Train : partOf(row, column));
    if (part == RowPart::LeftOut) return Error::success();
    auto example = TRY(hasMessages() ? plain(row) : templated(row));
    TRY(finish(row, example.chosen, weight));
    TRY(finish(row, example.rejected, weight));
    TRY(choose(row, example));
    example.weight = weight;
    learns_ |= isLearnt(example.chosen) && (example.rejected.empty() || isLearnt(example.rejected));
    dataset_.examples.push_back(std::move(example));
    if (!column.empty()) dataset_.held_out.push_back(part == RowPart::HeldOut);
    return Error::success();
  }

  /// Whether rejected answers must be taken from other rows.
  bool borrows() const { return pairs_ && !hasMessages() && !own_pairs_.value_or(true); }
  /// Gives each row the next different answer as its rejected one. If all answers are equal, an error, unless other
  /// rows follow `in_part`: then each row gets an equal answer.
  Error lendAnswers(bool in_part);
  /// Whether a row has something to learn, before it is cut.
  bool learns() const { return learns_; }

 private:
  bool isChat() const { return kind_ == Template::Chat; }
  bool hasMessages() const { return isChat() || kind_ == Template::Plain; }

  /// Completes a conversation by the row's columns system and tools, masks and weighs it; an empty one stays so.
  Error finish(const json::Object& row, Conversation& conversation, double weight) const {
    if (conversation.empty()) return Error::success();
    if (const auto* system = row.get("system"); system && !isNothing(*system)) {
      auto text = TRY(textOf(row, "system"));
      if (conversation.front().role == Role::System)
        return failure("'system' is given, and the messages begin with one of the system; remove one of them");
      conversation.insert(conversation.begin(), Message{Role::System, {std::move(text)}, true});
    }
    // torchtune's recipe for Alpaca learns the prompt; the others, and pairs, learn only answers. A pair counts as a
    // whole; its log-probabilities are sums over tokens that count alike.
    mask(conversation, !pairs_ && kind_ == Template::Instruct, pairs_ && weight != 0 ? 1 : weight);
    if (!isChat()) return Error::success();
    auto tools = TRY(toolsOf(row, raw_));
    asChat(conversation, tools);
    return Error::success();
  }

  /// Reads the choices of a row, if they are wanted and there are any.
  Error choose(const json::Object& row, Example& example) const {
    const auto* value = options_.choices ? row.get("choices") : nullptr;
    if (!value || isNothing(*value)) return Error::success();
    const auto* list = value->getAsArray();
    for (const json::Value& choice : list ? *list : json::Array{*value}) {
      if (!list || !choice.getAsString()) return failure("'choices' is not an array of strings");
      const StringRef text = *choice.getAsString();
      example.choices.push_back((isChat() ? strip(text) : text).str());
    }
    return Error::success();
  }

  /// A row of instruct, grammar or summarize.
  Expected<Example> templated(const json::Object& row) {
    auto prompt = TRY(promptOf(kind_, row));
    // The first row decides whether the file has pairs; the others must have the same columns.
    if (pairs_ && !own_pairs_) own_pairs_ = row.get("chosen") || row.get("rejected");
    const bool own = pairs_ && *own_pairs_;
    auto answer = TRY(textOf(row, own ? StringRef("chosen") : answerColumn(kind_)));
    Example example{{prompt, said(Role::Assistant, answer)}, {}};
    if (!own) return example;
    auto rejected = TRY(textOf(row, "rejected"));
    example.rejected = {std::move(prompt), said(Role::Assistant, rejected)};
    return example;
  }

  /// The conversation in a column, which may be a text (an answer to `before`) or a list of messages. A list that
  /// begins with an assistant's message continues `before`; any other list is a whole conversation by itself.
  Expected<Conversation> conversation(const json::Object& row, StringRef column, Conversation before = {}) const {
    if (const auto* value = row.get(column); value && value->getAsString() && !before.empty()) {
      before.push_back(said(Role::Assistant, *value->getAsString()));
    } else {
      auto messages = TRY(messagesOf(row, raw_, column, isChat(), pairs_));
      if (messages.empty() || messages.front().role != Role::Assistant) before.clear();
      llvm::append_range(before, messages);
    }
    if (const auto problem = problemOf(before)) return failure("'{}': {}", column, *problem);
    return before;
  }

  /// One side of a pair of `plain`. Public sets write it in several ways: whole conversations, or a prompt (text or
  /// messages) with answers.
  Expected<Conversation> side(const json::Object& row, StringRef column) {
    const auto *prompt = row.get("prompt"), *answer = row.get(column);
    if (prompt && prompt->getAsArray()) {
      auto before = TRY(messagesOf(row, raw_, "prompt", isChat(), pairs_));
      return conversation(row, column, std::move(before));
    }
    // Some sets have a prompt that is null beside whole conversations.
    if (answer && answer->getAsArray() && (!prompt || prompt->getAsNull())) return conversation(row, column);
    auto text = TRY(textOf(row, "prompt"));
    return conversation(row, column, {said(Role::User, text)});
  }

  /// A message with a text of its own.
  Message said(Role role, StringRef text) const {
    return {role, {(isChat() ? strip(text) : text).str()}, false, isChat()};
  }

  /// A row of plain or chat.
  Expected<Example> plain(const json::Object& row) {
    Example example;
    example.chosen = TRY(pairs_ ? side(row, "chosen") : conversation(row, "messages"));
    if (pairs_) example.rejected = TRY(side(row, "rejected"));
    return example;
  }

  const Template kind_;
  StringRef raw_;  // the text of the row that is added
  const bool pairs_;
  const DatasetOptions& options_;
  std::optional<bool> own_pairs_;  // whether rows have both answers; unknown before the first row
  Dataset& dataset_;
  bool learns_ = false;
};

Error Reader::lendAnswers(bool in_part) {
  std::vector<Example>& examples = dataset_.examples;
  const size_t count = examples.size();
  const auto answer = [&](size_t at) -> const std::string& { return examples[at % count].chosen.back().parts.front(); };
  // next[at] is the first row behind `at` with another answer. Walking from the back, it is the neighbour if that
  // differs, else the neighbour's own next. Twice around, since the first row follows the last. Linear time, also for a
  // file whose answers are mostly alike.
  std::vector<size_t> next(2 * count + 1, 2 * count);
  for (size_t at = 2 * count - 1; at-- > 0;) next[at] = answer(at) == answer(at + 1) ? next[at + 1] : at + 1;
  if (!in_part && (count < 2 || next[0] >= 2 * count))
    return failure(
        "dpo needs two answers per row. These rows have one, and all {} answers are equal, so none can be taken from "
        "another row as the rejected one. Add columns chosen and rejected, or use more rows",
        count);
  for (size_t at = 0; at < count; ++at) {
    examples[at].rejected = examples[at].chosen;
    examples[at].rejected.back().parts = {answer(next[at])};
  }
  return Error::success();
}

}  // namespace

const char* nameOf(Template kind) { return traitsOf(kind).name; }

std::optional<Template> templateNamed(StringRef name) {
  const int found = base::findNamed(kTraits, name);
  return found < 0 ? std::nullopt : std::optional(static_cast<Template>(found));
}

StringRef answerColumn(Template kind) { return traitsOf(kind).answer; }

Expected<Message> promptOf(Template kind, const json::Object& row) {
  auto text = TRY(textOf(row, traitsOf(kind).prompt));
  if (kind == Template::Grammar)
    return Message{Role::User, {"Correct this to standard English: ", text, "\n---\nCorrected: "}};
  if (kind == Template::Summarize)
    return Message{Role::User, {"Summarize this dialogue:\n", text, "\n---\nSummary:\n"}};
  // instruct: Alpaca's two prompts, with and without an input.
  const auto* input = row.get("input");
  auto more = TRY(!input || input->getAsNull() ? Expected<std::string>("") : textOf(row, "input"));
  const bool alone = more.empty();
  return Message{
      Role::User,
      {fmt::format("Below is an instruction that describes a task{}. Write a response that appropriately completes the "
                   "request.\n\n### Instruction:\n{}{}{}\n\n### Response:\n",
                   alone ? "" : ", paired with an input that provides further context", text,
                   alone ? "" : "\n\n### Input:\n", more)}};
}

Expected<Dataset> readDataset(RowReader& rows, const DatasetOptions& options, std::vector<RowFault>* faults) {
  // Rows are read up to the limit and no further, so a small study of a large file starts at once.
  Dataset dataset;
  Reader reader(options, dataset);
  int64_t count = 0;
  for (json::Object row; options.row_limit == 0 || count < options.row_limit; ++count) {
    auto more = rows.next(row);
    if (!more && !faults) return more.takeError();
    if (!more) {
      const std::string why = toString(more.takeError()), place = rows.place() + ": ";
      const size_t line = rows.line();
      const bool goes_on = rows.skip();
      faults->push_back(
          {count + 1,
           fmt::format("{}{}{}", StringRef(why).starts_with(place) ? why.substr(place.size()) : why,
                       line > 0 ? fmt::format(" (line {})", line) : "", goes_on ? "" : "; no row after it was read")});
      if (goes_on) continue;
      break;
    }
    if (!*more) break;
    // The first row is read even if it is longer than the limit.
    if ((dataset.in_part = options.byte_limit > 0 && count > 0 && rows.bytes() > options.byte_limit)) break;
    auto error = reader.add(row, rows.raw());
    if (!error) continue;
    std::string why = fmt::format("{} (template {})", toString(std::move(error)), nameOf(options.kind));
    if (!faults) return failure("{}: {}", rows.place(), why);
    faults->push_back({count + 1, std::move(why)});
  }
  const bool faulty = faults && !faults->empty(), any = !dataset.examples.empty();
  if (count == 0 && !faulty) return failure("{}: it has no rows", rows.name());
  if (!any && !dataset.in_part && !faulty)
    return failure("{}: column '{}' says test for all {} rows, so none is left", rows.name(), options.part_column,
                   count);
  if (any && !reader.learns() && !options.choices && !faults && !dataset.in_part)
    return failure(
        "{}: row 1: all its answers have weight 0 (by weight, loss, train, mask or the like), and so have those of "
        "every other row, so nothing is learnt: raise a weight",
        rows.name());
  dataset.origin = rows.name();
  dataset.borrowed_answers = reader.borrows();
  if (dataset.borrowed_answers) TRY(prefixed(rows.name(), reader.lendAnswers(dataset.in_part)));
  return dataset;
}

Expected<std::unique_ptr<RowReader>> openRows(const DatasetOptions& options) {
  std::string path = options.path;
  if (llvm::sys::fs::is_directory(path)) path = TRY(fileOf(path, options.kind));
  return RowReader::open(path);
}

Expected<Dataset> readDataset(const DatasetOptions& options) {
  auto rows = TRY(openRows(options));
  return readDataset(*rows, options);
}

}  // namespace expc::text
