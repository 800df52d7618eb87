// The reading side of JsonRecord, field by field. Each reader notes at most one error, and stores a neutral value
// after it.

#include "runtime/base/json_record.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"

namespace expc::base {

using json::Array;
using json::Object;
using json::Value;

StringRef kindName(const Value& value) {
  static constexpr llvm::StringLiteral kKinds[] = {"null",     "a truth value", "a number",
                                                   "a string", "an array",      "an object"};
  return kKinds[value.kind()];
}

std::string JsonPath::text() const {
  std::string text = parent ? parent->text() : "$";
  if (index)
    text += fmt::format("[{}]", *index);
  else if (!key.empty())
    text.append(1, '.').append(key.data(), key.size());
  return text;
}

/// The first error is the cause; later ones often follow from the neutral value that it left.
void JsonErrors::add(const JsonPath& at, const llvm::Twine& message) {
  if (first_.empty()) first_ = at.text() + ": " + message.str();
}

Error JsonErrors::take(const llvm::Twine& what) const {
  if (first_.empty()) return Error::success();
  return failure("{} cannot be read: {}", what.str(), first_);
}

JsonRecord::JsonRecord(JsonErrors& errors, const Value& value, const JsonPath& at)
    : errors_(&errors), at_(&at), in_(value.getAsObject()) {
  if (!in_) fail("expected an object, found " + kindName(value));
}

const Value* JsonRecord::in(Key key) {
  // Asked for, whether it is there or not: refuseOthers must not report it.
  asked_.push_back(key);
  return in_ ? in_->get(key) : nullptr;
}

bool JsonRecord::has(Key key, bool written) {
  if (!reads()) return written;
  const Value* found = in(key);
  return found && !found->getAsNull();
}

void JsonRecord::each(Key key, function_ref<void(const Value&, const JsonPath&)> read) {
  const Array* array = found(key, "an array", [](const Value& value) { return value.getAsArray(); });
  const JsonPath here{at_, key, std::nullopt};
  // A broken array can have a million broken elements, so the first error ends it.
  for (size_t i = 0; array && i < array->size() && !failed(); ++i) read((*array)[i], JsonPath{&here, "", i});
}

unsigned JsonRecord::wordIndex(Key key, ArrayRef<StringRef> words) {
  std::string text;
  field(key, text);
  if (failed()) return 0;
  const auto found = llvm::find(words, StringRef(text));
  if (found != words.end()) return unsigned(found - words.begin());
  fail(key, fmt::format("'{}' is none of {}", text, llvm::join(words, ", ")));
  return 0;
}

std::vector<StringRef> JsonRecord::names() const {
  std::vector<StringRef> names;
  if (in_)
    for (const auto& member : *in_) names.emplace_back(member.first);
  return names;
}

void JsonRecord::refuseOthers() {
  if (failed()) return;
  // After an error the description may have stopped early, so members that it did not ask for mean nothing.
  std::vector<StringRef> others = names();
  std::erase_if(others, [&](StringRef name) { return is_contained(asked_, name); });
  if (others.empty()) return;
  // Report the first by name, so that the message does not depend on the order of a hash table.
  fail(*std::ranges::min_element(others), "unknown field; was this written by a newer expc?");
}

void JsonRecord::field(Key key, std::string& text) {
  if (reads())
    text = found(key, "a string", [](const Value& value) { return value.getAsString(); }).value_or("").str();
  else
    out_[key] = jsonText(text);
}

void JsonRecord::field(Key key, bool& truth) {
  if (reads())
    truth = found(key, "a truth value", [](const Value& value) { return value.getAsBoolean(); }).value_or(false);
  else
    out_[key] = truth;
}

void JsonRecord::field(Key key, double& number) {
  if (!reads()) {
    out_[key] = number;
    return;
  }
  number = found(key, "a number", [](const Value& value) { return value.getAsNumber(); }).value_or(0);
  // A parser may read 1e999 as infinity.
  if (std::isfinite(number)) return;
  fail(key, "the number is not finite");
  number = 0;
}

void JsonRecord::measured(Key key, double& number) {
  if (reads())
    number = found(key, "a number", measuredNumber).value_or(0);
  else
    out_[key] = jsonNumber(number);
}

uint64_t JsonRecord::whole(Key key, uint64_t low, uint64_t high) {
  const Value* value = in(key);
  // Negative numbers are not unsigned, and so are refused here as well.
  const auto read = value ? value->getAsUINT64() : std::nullopt;
  if (read && *read >= low && *read <= high) return *read;
  if (!value)
    fail(key, "missing, expected a whole number");
  else if (!read)
    fail(key, "expected a whole number from 0 up, found " +
                  (value->getAsNumber() ? StringRef("another number") : kindName(*value)));
  else
    fail(key, fmt::format("{} is outside {}..{}", *read, low, high));
  return low;
}

void JsonRecord::field(Key key, Object& object) {
  if (!reads())
    out_[key] = Object(object);
  else if (const Object* read = found(key, "an object", [](const Value& value) { return value.getAsObject(); }))
    object = *read;
}

void JsonRecord::field(Key key, Value& value) {
  if (!reads()) {
    out_[key] = value;
  } else if (const Value* read = in(key)) {
    value = *read;
  } else {
    fail(key, "missing");
  }
}

void JsonRecord::field(Key key, std::vector<std::string>& texts) {
  if (reads())
    return each(key, [&](const Value& element, const JsonPath& at) {
      if (const auto text = element.getAsString())
        texts.push_back(text->str());
      else
        errors_->add(at, "expected a string, found " + kindName(element));
    });
  out_[key] = jsonTexts(texts);
}

void JsonRecord::field(Key key, std::vector<std::vector<std::string>>& lists) {
  if (reads())
    return each(key, [&](const Value& item, const JsonPath& at) {
      std::vector<std::string>& texts = lists.emplace_back();
      const Array* array = item.getAsArray();
      if (!array) return errors_->add(at, "expected an array of strings");
      for (const Value& element : *array)
        if (const auto text = element.getAsString())
          texts.push_back(text->str());
        else
          errors_->add(at, "expected an array of strings");
    });
  Array array;
  for (const std::vector<std::string>& texts : lists) array.push_back(jsonTexts(texts));
  out_[key] = std::move(array);
}

void JsonRecord::field(Key key, std::vector<unsigned>& numbers) {
  if (reads())
    return each(key, [&](const Value& item, const JsonPath& at) {
      const auto number = item.getAsUINT64();
      if (!number || *number > UINT32_MAX) return errors_->add(at, "expected a whole number from 0 up");
      numbers.push_back(unsigned(*number));
    });
  out_[key] = Array(numbers);
}

void JsonRecord::field(Key key, std::vector<int>& numbers, int low) {
  if (reads())
    return each(key, [&](const Value& item, const JsonPath& at) {
      const auto number = item.getAsInteger();
      if (!number || *number < low || *number > INT32_MAX)
        return errors_->add(at, low > 0 ? "expected a number above 0" : "expected a whole number from 0 up");
      numbers.push_back(int(*number));
    });
  out_[key] = Array(numbers);
}

void JsonRecord::field(Key key, std::vector<double>& numbers) {
  if (reads())
    return each(key, [&](const Value& item, const JsonPath&) {
      numbers.push_back(measuredNumber(item).value_or(std::nan("")));
    });
  Array array;
  array.reserve(numbers.size());
  for (const double number : numbers) array.push_back(jsonNumber(number));
  out_[key] = std::move(array);
}

void JsonRecord::field(Key key, std::set<std::string>& texts) {
  std::vector<std::string> list(texts.begin(), texts.end());
  field(key, list);
  if (reads()) texts = {list.begin(), list.end()};
}

}  // namespace expc::base
