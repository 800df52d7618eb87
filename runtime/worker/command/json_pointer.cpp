#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

#include "runtime/plan/json.h"
#include "runtime/worker/command/excerpt.h"
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

const Value* step(const Value& value, const std::string& token) {
  if (const llvm::json::Object* object = value.getAsObject()) return object->get(token);
  const llvm::json::Array* array = value.getAsArray();
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

llvm::Error noJson(llvm::StringRef text, const std::string& why) {
  // Python's json writes them all the same.
  const bool odd = text.contains("NaN") || text.contains("Infinity");
  return llvm::createStringError(
      fmt::format("it is no JSON that can be read: {}{}", why,
                  odd ? " (JSON has no NaN or Infinity, and the file has such a word)" : ""));
}

/// Calls `use` for the value at `pointer`.
llvm::Error visit(llvm::StringRef text, const std::string& pointer, llvm::function_ref<llvm::Error(const Value&)> use) {
  if (auto error = checkPointer(pointer)) return error;
  auto document = plan::parseJson({text.data(), text.size()});
  if (!document) return noJson(text, llvm::toString(document.takeError()));
  const Value* value = &*document;
  llvm::SmallVector<llvm::StringRef, 8> tokens;
  if (!pointer.empty()) llvm::StringRef(pointer).drop_front().split(tokens, '/');
  size_t used = 0;
  for (llvm::StringRef token : tokens) {
    const Value* next = step(*value, unescaped(token));
    if (!next)
      return llvm::createStringError(fmt::format("there is nothing at {}: {} is {}", pointer,
                                                 used ? pointer.substr(0, used) : "the document", membersOf(*value)));
    used += 1 + token.size();
    value = next;
  }
  return use(*value);
}

llvm::Error addNumbers(const Value& value, const std::string& pointer, JsonNumbers& result) {
  const auto finite = [&](double number) {
    result.values.push_back(number);
    return std::isfinite(number);
  };
  if (const auto number = value.getAsNumber()) {
    if (finite(*number)) return llvm::Error::success();
    return llvm::createStringError(fmt::format("at {} is no finite number", pointer));
  }
  const llvm::json::Array* array = value.getAsArray();
  if (!array) return llvm::createStringError(fmt::format("at {} is no number but {}", pointer, kindOf(value)));
  result.array = true;
  if (array->size() > kMostValues)
    return llvm::createStringError(fmt::format("the array at {} has more than a million values", pointer));
  for (size_t i = 0; i < array->size(); ++i) {
    const auto number = (*array)[i].getAsNumber();
    if (!number || !finite(*number))
      return llvm::createStringError(
          fmt::format("at {}/{} is no {}number but {}", pointer, i, number ? "finite " : "", kindOf((*array)[i])));
  }
  if (result.values.empty()) return llvm::createStringError(fmt::format("the array at {} is empty", pointer));
  return llvm::Error::success();
}

}  // namespace

llvm::Error checkPointer(const std::string& pointer) {
  if (!pointer.empty() && pointer.front() != '/')
    return llvm::createStringError(fmt::format("the JSON pointer '{}' does not begin with a slash", pointer));
  for (size_t at = pointer.find('~'); at != std::string::npos; at = pointer.find('~', at + 1))
    if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1'))
      return llvm::createStringError(
          fmt::format("the JSON pointer '{}': a tilde is written ~0, a slash in a name ~1", pointer));
  return llvm::Error::success();
}

llvm::Expected<JsonNumbers> readJson(llvm::StringRef text, const std::string& pointer) {
  JsonNumbers result;
  auto error = visit(text, pointer, [&](const Value& value) { return addNumbers(value, pointer, result); });
  if (error) return error;
  return result;
}

llvm::Error readTruth(llvm::StringRef text, const std::string& pointer) {
  return visit(text, pointer, [&](const Value& value) -> llvm::Error {
    if (value.getAsBoolean() == true) return llvm::Error::success();
    return llvm::createStringError(fmt::format("at {} is {}, not true", pointer, kindOf(value)));
  });
}

}  // namespace expc::command
