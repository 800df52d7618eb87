#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

#include "runtime/plan/json.h"

namespace expc::plan {
llvm::StringRef kindName(const llvm::json::Value& value) {
  switch (value.kind()) {
    case llvm::json::Value::Null:
      return "null";
    case llvm::json::Value::Boolean:
      return "a truth value";
    case llvm::json::Value::Number:
      return "a number";
    case llvm::json::Value::String:
      return "a string";
    case llvm::json::Value::Array:
      return "an array";
    case llvm::json::Value::Object:
      return "an object";
  }
  return "unknown";
}

std::string JsonPath::text() const {
  std::string text = parent ? parent->text() : "$";
  if (index)
    text += fmt::format("[{}]", *index);
  else if (!key.empty())
    text.append(1, '.').append(key.data(), key.size());
  return text;
}

void JsonErrors::add(const JsonPath& at, const llvm::Twine& message) {
  if (first_.empty()) first_ = at.text() + ": " + message.str();
}

llvm::Error JsonErrors::take(const llvm::Twine& what) const {
  if (first_.empty()) return llvm::Error::success();
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what.str() + " cannot be read: " + first_);
}

JsonFields::JsonFields(JsonErrors& errors, const llvm::json::Value& value, const JsonPath& at)
    : errors_(errors), object_(value.getAsObject()), at_(at) {
  if (!object_) errors_.add(at, "expected an object, found " + kindName(value));
}

const llvm::json::Value* JsonFields::value(llvm::StringRef key) {
  asked_.push_back(key);
  return object_ ? object_->get(key) : nullptr;
}

void JsonFields::fail(llvm::StringRef key, const llvm::Twine& message) {
  errors_.add(JsonPath{&at_, key, std::nullopt}, message);
}

bool JsonFields::has(llvm::StringRef key) {
  const llvm::json::Value* found = value(key);
  return found && !found->getAsNull();
}

std::string JsonFields::string(llvm::StringRef key) {
  const llvm::json::Value* found = value(key);
  if (!found)
    fail(key, "missing, expected a string");
  else if (const auto text = found->getAsString())
    return text->str();
  else
    fail(key, "expected a string, found " + kindName(*found));
  return "";
}

bool JsonFields::boolean(llvm::StringRef key) {
  const llvm::json::Value* found = value(key);
  if (!found)
    fail(key, "missing, expected a truth value");
  else if (const auto truth = found->getAsBoolean())
    return *truth;
  else
    fail(key, "expected a truth value, found " + kindName(*found));
  return false;
}

double JsonFields::number(llvm::StringRef key) {
  const llvm::json::Value* found = value(key);
  if (!found) {
    fail(key, "missing, expected a number");
  } else if (const auto number = found->getAsNumber()) {
    if (std::isfinite(*number)) return *number;
    fail(key, "the number is not finite");
  } else {
    fail(key, "expected a number, found " + kindName(*found));
  }
  return 0;
}

uint64_t JsonFields::whole(llvm::StringRef key, uint64_t low, uint64_t high) {
  const llvm::json::Value* found = value(key);
  if (!found) {
    fail(key, "missing, expected a whole number");
  } else if (const auto number = found->getAsUINT64()) {
    if (*number >= low && *number <= high) return *number;
    fail(key, fmt::format("{} is outside {}..{}", *number, low, high));
  } else {
    fail(key, "expected a whole number from 0 up, found " +
                  (found->getAsNumber() ? llvm::StringRef("another number") : kindName(*found)));
  }
  return low;
}

unsigned JsonFields::small(llvm::StringRef key, unsigned low, unsigned high) {
  return static_cast<unsigned>(whole(key, low, high));
}

llvm::json::Object JsonFields::object(llvm::StringRef key) {
  const llvm::json::Value* found = value(key);
  if (!found)
    fail(key, "missing, expected an object");
  else if (const auto* object = found->getAsObject())
    return *object;
  else
    fail(key, "expected an object, found " + kindName(*found));
  return {};
}

void JsonFields::each(llvm::StringRef key, llvm::function_ref<void(const llvm::json::Value&, const JsonPath&)> read) {
  const llvm::json::Value* found = value(key);
  if (!found) return fail(key, "missing, expected an array");
  const auto* array = found->getAsArray();
  if (!array) return fail(key, "expected an array, found " + kindName(*found));
  const JsonPath here{&at_, key, std::nullopt};
  for (size_t i = 0; i < array->size() && !errors_.any(); ++i) read((*array)[i], JsonPath{&here, "", i});
}

std::vector<std::string> JsonFields::strings(llvm::StringRef key) {
  std::vector<std::string> texts;
  each(key, [&](const llvm::json::Value& element, const JsonPath& at) {
    if (const auto text = element.getAsString())
      texts.push_back(text->str());
    else
      errors_.add(at, "expected a string, found " + kindName(element));
  });
  return texts;
}

unsigned JsonFields::wordIndex(llvm::StringRef key, llvm::ArrayRef<llvm::StringLiteral> words) {
  const std::string text = string(key);
  if (errors_.any()) return 0;
  const auto found = llvm::find(words, llvm::StringRef(text));
  if (found != words.end()) return static_cast<unsigned>(found - words.begin());
  fail(key, fmt::format("'{}' is none of {}", text, llvm::join(words, ", ")));
  return 0;
}

void JsonFields::refuseOthers() {
  if (!object_ || errors_.any()) return;
  std::vector<llvm::StringRef> others;
  for (const auto& member : *object_)
    if (!llvm::is_contained(asked_, llvm::StringRef(member.first))) others.push_back(llvm::StringRef(member.first));
  if (others.empty()) return;
  // The first by name, so that the message does not depend on the hash table.
  fail(*std::min_element(others.begin(), others.end()), "unknown field; was this written by a newer expc?");
}

}  // namespace expc::plan
