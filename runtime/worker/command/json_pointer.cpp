#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/json.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {
namespace {

using llvm::json::Value;

/// "~1" is a slash, "~0" a tilde, in this order.
std::string unescaped(llvm::StringRef token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    text += escape ? (token[++i] == '1' ? '/' : '~') : token[i];
  }
  return text;
}

/// The only element of an array whose member has a value: "name=BM_copy/64" of what google-benchmark writes.
const Value* elementWith(const llvm::json::Array& array, llvm::StringRef member, llvm::StringRef value) {
  const Value* found = nullptr;
  for (const Value& element : array)
    if (const llvm::json::Object* object = element.getAsObject(); object && object->getString(member) == value) {
      if (found) return nullptr;
      found = &element;
    }
  return found;
}

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

std::string kindOf(const Value& value) {
  if (const auto text = value.getAsString()) return fmt::format("the string '{}'", excerpt(*text, 40));
  if (value.getAsNull()) return "null";
  if (const auto number = value.getAsNumber()) return fmt::format("{}", *number);
  if (value.getAsBoolean()) return *value.getAsBoolean() ? "true" : "false";
  return value.getAsObject() ? "an object" : "an array";
}

/// What there is instead, for the message.
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

/// Replaces the bare NaN and Infinity that Python's json writes by numbers too large for a double, which are read as
/// infinite.
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

llvm::Expected<Value> parse(llvm::StringRef text) {
  const bool odd = text.contains("NaN") || text.contains("Infinity");
  return base::parseJson(odd ? withoutBareWords(text) : text.str());
}

/// The document, or the documents of its lines (JSON Lines).
llvm::Expected<std::vector<Value>> documentsOf(llvm::StringRef text) {
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

/// Calls `use` for the value at `pointer`: of each document that has one, since loggers write lines that are about
/// something else, or of the last.
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

/// A number, or a string that says that it is none or infinite.
std::optional<double> numberOf(const Value& value) {
  const auto text = value.getAsString();
  if (!text) return value.getAsNumber();
  const auto number = llvm::expectedToOptional(readNumber(*text));
  return number && !std::isfinite(*number) ? number : std::nullopt;
}

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
