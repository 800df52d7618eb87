#include "runtime/plan/json_record.h"

#include <fmt/format.h>

namespace expc::plan {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

void JsonRecord::field(Key key, std::string& text) {
  if (reads())
    text = in_->string(key);
  else
    out_[key] = jsonText(text);
}

void JsonRecord::field(Key key, bool& truth) {
  if (reads())
    truth = in_->boolean(key);
  else
    out_[key] = truth;
}

void JsonRecord::field(Key key, double& number) {
  if (reads())
    number = in_->number(key);
  else
    out_[key] = number;
}

void JsonRecord::field(Key key, uint64_t& number, uint64_t low, uint64_t high) {
  if (reads())
    number = in_->whole(key, low, high);
  else
    out_[key] = number;
}

void JsonRecord::field(Key key, unsigned& number, unsigned low, unsigned high) {
  uint64_t wide = number;
  field(key, wide, low, high);
  number = static_cast<unsigned>(wide);
}

void JsonRecord::field(Key key, int& number, int low) {
  if (reads())
    number = static_cast<int>(in_->small(key, static_cast<unsigned>(low), INT32_MAX));
  else
    out_[key] = number;
}

void JsonRecord::field(Key key, int64_t& number) {
  if (reads())
    number = static_cast<int64_t>(in_->whole(key, 0, kMostJsonId));
  else
    out_[key] = number;
}

void JsonRecord::field(Key key, Object& object) {
  if (reads())
    object = in_->object(key);
  else
    out_[key] = Object(object);
}

void JsonRecord::field(Key key, Value& value) {
  if (!reads()) {
    out_[key] = value;
  } else if (const Value* found = in_->value(key)) {
    value = *found;
  } else {
    fail(key, "missing");
  }
}

void JsonRecord::field(Key key, std::vector<std::string>& texts) {
  if (reads())
    texts = in_->strings(key);
  else
    out_[key] = jsonTexts(texts);
}

void JsonRecord::field(Key key, std::vector<std::vector<std::string>>& lists) {
  if (reads())
    return in_->each(key, [&](const Value& item, const JsonPath& at) {
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
    return in_->each(key, [&](const Value& item, const JsonPath& at) {
      const auto number = item.getAsUINT64();
      if (!number || *number > UINT32_MAX) return errors_->add(at, "expected a whole number from 0 up");
      numbers.push_back(static_cast<unsigned>(*number));
    });
  out_[key] = Array(numbers);
}

void JsonRecord::field(Key key, std::vector<int>& numbers) {
  if (reads())
    return in_->each(key, [&](const Value& item, const JsonPath& at) {
      const auto number = item.getAsInteger();
      if (!number || *number <= 0 || *number > INT32_MAX) return errors_->add(at, "expected a number above 0");
      numbers.push_back(static_cast<int>(*number));
    });
  out_[key] = Array(numbers);
}

void JsonRecord::field(Key key, std::map<std::string, double>& numbers) {
  Object object;
  for (const auto& [name, number] : numbers) object[jsonText(name).getAsString()->str()] = number;
  field(key, object);
  if (!reads()) return;
  const Value read(std::move(object));
  const JsonPath at{at_, key, std::nullopt};
  JsonFields members(*errors_, read, at);
  for (const auto& [name, number] : *read.getAsObject()) numbers[name.str()] = members.number(name);
}

}  // namespace expc::plan
