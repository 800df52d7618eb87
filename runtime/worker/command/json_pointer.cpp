// Reads numbers at a JSON pointer (RFC 6901) out of a program's JSON: one document, or one per
// line. It accepts what programs really write: NaN and Infinity without quotes (Python's json), a
// byte order mark, lines of a log that are about something else. The text may be a stranger's, so
// every problem is an error of one line.

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/json.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {
namespace {

using llvm::json::Value;

/// Resolves the escapes of RFC 6901: "~1" is a slash, "~0" a tilde.
std::string unescaped(llvm::StringRef token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    text += escape ? (token[++i] == '1' ? '/' : '~') : token[i];
  }
  return text;
}

/// The only element of an array whose member has that value, or null: "name=BM_copy/64" finds a
/// result of google-benchmark.
const Value* elementWith(const llvm::json::Array& array, llvm::StringRef member, llvm::StringRef value) {
  const Value* found = nullptr;
  for (const Value& element : array)
    if (const llvm::json::Object* object = element.getAsObject(); object && object->getString(member) == value) {
      if (found) return nullptr;
      found = &element;
    }
  return found;
}

/// One step of a pointer: the member, the element at an index, or the element that elementWith()
/// finds. Null if there is none. An index has no leading zeros.
const Value* step(const Value& value, const std::string& token) {
  if (const llvm::json::Object* object = value.getAsObject()) return object->get(token);
  const llvm::json::Array* array = value.getAsArray();
  if (array && token.find('=') != std::string::npos) {
    const auto [member, wanted] = llvm::StringRef(token).split('=');
    return elementWith(*array, member, wanted);
  }
  size_t index = 0;
  const bool is_index = array && llvm::to_integer(token, index, 10) && std::to_string(index) == token;
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

/// The value in words, for messages; texts are cut.
std::string kindOf(const Value& value) {
  if (const auto text = value.getAsString()) return fmt::format("the string '{}'", excerpt(*text, 40));
  if (value.getAsNull()) return "null";
  if (const auto number = value.getAsNumber()) return fmt::format("{}", *number);
  if (value.getAsBoolean()) return *value.getAsBoolean() ? "true" : "false";
  return value.getAsObject() ? "an object" : "an array";
}

/// The contents of a value in words, for the message that a step of the pointer leads nowhere.
std::string membersOf(const Value& value) {
  if (const llvm::json::Array* array = value.getAsArray()) return fmt::format("an array of {}", array->size());
  const llvm::json::Object* object = value.getAsObject();
  if (!object) return kindOf(value);
  std::vector<std::string> names;
  for (const auto& member : *object) names.push_back(excerpt(member.first, 40));
  std::sort(names.begin(), names.end());
  std::string text = "an object with";
  for (size_t i = 0; i < names.size() && i < 8; ++i) text += fmt::format("{} {}", i ? "," : "", names[i]);
  return names.empty() ? "an empty object" : text + (names.size() > 8 ? ", …" : "");
}

/// Replaces the bare words NaN and Infinity by a number that is too large for a double and is
/// therefore read as infinite. The sign in front of -Infinity stays.
std::string withoutBareWords(llvm::StringRef text) {
  std::string result;
  bool quoted = false;
  while (!text.empty()) {
    if (!quoted && (text.consume_front("NaN") || text.consume_front("Infinity"))) {
      result += "1e999";
      continue;
    }
    if (quoted && text.front() == '\\') {
      result += text.take_front(2);
      text = text.drop_front(std::min<size_t>(2, text.size()));
      continue;
    }
    if (text.front() == '"') quoted = !quoted;
    result += text.front();
    text = text.drop_front();
  }
  return result;
}

/// Looks for bare words only if there may be some: copying a large text takes time.
llvm::Expected<Value> parse(llvm::StringRef text) {
  const bool odd = text.contains("NaN") || text.contains("Infinity");
  return base::parseJson(odd ? withoutBareWords(text) : text.str());
}

/// The documents in a text: one, or one per line (JSON Lines). If neither can be read, the error is
/// about the whole text.
llvm::Expected<std::vector<Value>> documentsOf(llvm::StringRef text) {
  // A byte order mark, as some Windows programs write it.
  text.consume_front("\xef\xbb\xbf");
  std::vector<Value> documents;
  auto whole = parse(text);
  if (whole) documents.push_back(std::move(*whole));
  if (whole) return documents;
  const std::string why = "it is no JSON that can be read: " + llvm::toString(whole.takeError());
  while (!text.empty()) {
    const auto [line, rest] = text.split('\n');
    text = rest;
    if (line.trim().empty()) continue;
    auto one = parse(line);
    if (!one) llvm::consumeError(one.takeError());
    if (!one || documents.size() == kMostValues) return llvm::createStringError(why);
    documents.push_back(std::move(*one));
  }
  if (documents.empty()) return llvm::createStringError(why);
  return documents;
}

/// The value at the pointer; the error says how far it led and what is there.
llvm::Expected<const Value*> find(const Value& document, const std::string& pointer) {
  const Value* value = &document;
  llvm::SmallVector<llvm::StringRef, 8> tokens;
  if (!pointer.empty()) llvm::StringRef(pointer).drop_front().split(tokens, '/');
  size_t used = 0;
  for (llvm::StringRef token : tokens) {
    const Value* next = step(*value, unescaped(token));
    if (!next)
      return failure("there is nothing at {}: {} is {}", pointer, used ? pointer.substr(0, used) : "the document",
                     membersOf(*value));
    used += 1 + token.size();
    value = next;
  }
  return value;
}

/// Calls `use` for the value at `pointer` in every document that has one, or only in the last of
/// these. Documents without it are skipped, since loggers also write lines about something else.
llvm::Error visit(llvm::StringRef text, const std::string& pointer, Which which,
                  llvm::function_ref<llvm::Error(const Value&)> use) {
  if (auto error = checkPointer(pointer)) return error;
  auto documents = documentsOf(text);
  if (!documents) return documents.takeError();
  std::vector<const Value*> values;
  std::string missing;
  for (const Value& document : *documents) {
    auto value = find(document, pointer);
    if (value)
      values.push_back(*value);
    else
      missing = llvm::toString(value.takeError());
  }
  if (values.empty()) return llvm::createStringError(missing);
  if (which == Which::Last) return use(*values.back());
  for (const Value* value : values)
    if (auto error = use(*value)) return error;
  return llvm::Error::success();
}

/// A number; or a string that stands for NaN or infinity. Other strings are no numbers, even if
/// they look like one.
std::optional<double> numberOf(const Value& value) {
  const auto text = value.getAsString();
  if (!text) return value.getAsNumber();
  const auto number = llvm::expectedToOptional(readNumber(*text));
  return number && !std::isfinite(*number) ? number : std::nullopt;
}

/// Adds the value, or the elements of an array, to the result.
llvm::Error addNumbers(const Value& value, const std::string& pointer, JsonNumbers& result) {
  const auto add = [&](const Value& one) {
    const std::optional<double> number = numberOf(one);
    if (number) result.values.push_back(*number);
    return number.has_value();
  };
  if (add(value)) return llvm::Error::success();
  const llvm::json::Array* array = value.getAsArray();
  if (!array) return failure("at {} is no number but {}", pointer, kindOf(value));
  result.array = true;
  if (array->size() > kMostValues) return failure("the array at {} has more than a million values", pointer);
  for (size_t i = 0; i < array->size(); ++i)
    if (!add((*array)[i])) return failure("at {}/{} is no number but {}", pointer, i, kindOf((*array)[i]));
  if (result.values.empty()) return failure("the array at {} is empty", pointer);
  return llvm::Error::success();
}

}  // namespace

llvm::Error checkPointer(const std::string& pointer) {
  if (!pointer.empty() && pointer.front() != '/')
    return failure("the JSON pointer '{}' does not begin with a slash", pointer);
  for (size_t at = pointer.find('~'); at != std::string::npos; at = pointer.find('~', at + 1))
    if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1'))
      return failure("the JSON pointer '{}': a tilde is written ~0, a slash in a name ~1", pointer);
  return llvm::Error::success();
}

llvm::Expected<JsonNumbers> readJson(llvm::StringRef text, const std::string& pointer, Which which) {
  JsonNumbers result;
  auto error = visit(text, pointer, which, [&](const Value& value) { return addNumbers(value, pointer, result); });
  if (error) return error;
  return result;
}

llvm::Error readTruth(llvm::StringRef text, const std::string& pointer) {
  return visit(text, pointer, Which::All, [&](const Value& value) -> llvm::Error {
    if (value.getAsBoolean() == true) return llvm::Error::success();
    return failure("at {} is {}, not true", pointer, kindOf(value));
  });
}

}  // namespace expc::command
