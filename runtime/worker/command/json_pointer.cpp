// Reads numbers at a JSON pointer (RFC 6901) out of a program's JSON: one document, or one per
// line. It accepts what programs really write: NaN and Infinity without quotes (Python's json), a
// byte order mark, lines of a log that are about something else. The text may be a stranger's, so
// every problem is an error of one line.

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {
namespace {

using json::Value;

/// The most parts of a pointer, each of which takes a call of Way::from().
constexpr size_t kMostTokens = 1000;

/// Resolves the escapes of RFC 6901: "~1" is a slash, "~0" a tilde.
std::string unescaped(StringRef token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    text += escape ? (token[++i] == '1' ? '/' : '~') : token[i];
  }
  return text;
}

/// Whether an object has the member of a token "name=VALUE" with that value: "name=BM_copy/64" finds a result of
/// google-benchmark, "n_gen=128" one of llama-bench.
bool has(const Value& element, StringRef member, StringRef wanted) {
  const json::Object* object = element.getAsObject();
  const Value* value = object ? object->get(member) : nullptr;
  if (!value) return false;
  if (const auto text = value->getAsString()) return *text == wanted;
  if (const auto flag = value->getAsBoolean()) return wanted == (*flag ? "true" : "false");
  if (value->getAsNull()) return wanted == "null";
  // Whole numbers are compared as such, since a double does not tell large ones apart.
  int64_t whole = 0;
  if (const auto number = value->getAsInteger(); number && llvm::to_integer(wanted, whole, 10)) return *number == whole;
  const auto number = expectedToOptional(readNumber(wanted));
  return number && value->getAsNumber() == number;
}

/// The way of a pointer through a document. It forks at "*" and "name=VALUE".
struct Way {
  std::vector<std::string> tokens;
  std::vector<const Value*> found = {};
  /// The value at which a fork that led farthest ended, and the tokens before it.
  const Value* end = nullptr;
  size_t farthest = 0;

  /// Goes on from a value with the token at `at`.
  void from(const Value& value, size_t at) {
    if (at == tokens.size()) return found.push_back(&value);
    const std::string& token = tokens[at];
    const auto [member, wanted] = StringRef(token).split('=');
    const bool selects = member.size() < token.size();
    if (const json::Object* object = value.getAsObject()) {
      const Value* next = object->get(token);
      if (!next && selects && has(value, member, wanted)) next = &value;
      if (next) return from(*next, at + 1);
    }
    const json::Array* array = value.getAsArray();
    const size_t before = found.size(), far = farthest;
    size_t index = 0;
    if (array && (token == "*" || selects)) {
      for (const Value& element : *array)
        if (!selects || has(element, member, wanted)) from(element, at + 1);
    } else if (array && llvm::to_integer(token, index, 10) && std::to_string(index) == token && index < array->size()) {
      return from((*array)[index], at + 1);  // an index has no leading zeros
    }
    if (found.size() > before || farthest > far || (end && at <= farthest)) return;
    end = &value;
    farthest = at;
  }
};

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
  if (const json::Array* array = value.getAsArray()) return fmt::format("an array of {}", array->size());
  const json::Object* object = value.getAsObject();
  if (!object) return kindOf(value);
  std::vector<std::string> names;
  for (const auto& member : *object) names.push_back(excerpt(member.first, 40));
  std::ranges::sort(names);
  return names.empty() ? "an empty object" : fmt::format("an object with {}", base::firstOf(std::move(names), 8));
}

/// Replaces the bare words NaN and Infinity by a number that is too large for a double and is
/// therefore read as infinite. The sign in front of -Infinity stays.
std::string withoutBareWords(StringRef text) {
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
Expected<Value> parse(StringRef text) {
  const bool odd = text.contains("NaN") || text.contains("Infinity");
  return parseJson(odd ? withoutBareWords(text) : text.str());
}

/// `text` from the first line that may begin an object or an array of some: "[" begins none in "[INFO] …".
StringRef fromJson(StringRef text) {
  for (; !text.empty(); text = text.split('\n').second) {
    StringRef line = text.split('\n').first.trim();
    if (line.starts_with("{")) break;
    if (line.consume_front("[") && (line.empty() || StringRef("[{\"").contains(line.front()))) break;
  }
  return text;
}

/// The documents in a text: one, or one per line (JSON Lines). If neither can be read, the error is
/// about the whole text.
Expected<std::vector<Value>> documentsIn(StringRef text) {
  std::vector<Value> documents;
  auto whole = parse(text);
  if (whole) documents.push_back(std::move(*whole));
  if (whole) return documents;
  const std::string why = fmt::format("it is not valid JSON: {}", toString(whole.takeError()));
  for (const StringRef line : llvm::split(text, '\n')) {
    if (line.trim().empty()) continue;
    auto one = expectedToOptional(parse(line));
    if (!one || documents.size() == kMostValues) return failure("{}", why);
    documents.push_back(std::move(*one));
  }
  if (documents.empty()) return failure("{}", why);
  return documents;
}

/// The documents in a text. Lines before them are passed over: fio, perf stat and wrappers write some of their own.
Expected<std::vector<Value>> documentsOf(StringRef text) {
  // A byte order mark, as some Windows programs write it.
  text.consume_front("\xef\xbb\xbf");
  auto documents = documentsIn(text);
  const StringRef json = fromJson(text);
  if (documents || json.size() == text.size()) return documents;
  consumeError(documents.takeError());
  const std::string begin = excerpt(text.ltrim().split('\n').first.trim(), 60);
  if (json.empty()) return failure("it is not JSON: it starts with '{}'", begin);
  documents = documentsIn(json);
  if (documents) return documents;
  return failure("it starts with '{}', and after that {}; print the document alone, or to a file", begin,
                 documents.takeError());
}

/// The tokens of a pointer.
std::vector<std::string> tokensOf(StringRef pointer) {
  llvm::SmallVector<StringRef, 8> written;
  if (pointer.consume_front("/")) pointer.split(written, '/');
  std::vector<std::string> tokens;
  for (StringRef token : written) tokens.push_back(unescaped(token));
  return tokens;
}

/// Calls `use` for what is at `pointer` in every document that has something there, or only in the last of these.
/// Documents without it are skipped, since loggers also write lines about something else. The error says how far the
/// pointer led and what is there.
Error visit(StringRef text, const std::string& pointer, Which which, function_ref<Error(ArrayRef<const Value*>)> use) {
  TRY(checkPointer(pointer));
  auto documents = TRY(documentsOf(text));
  llvm::SmallVector<StringRef, 8> written;
  if (!pointer.empty()) StringRef(pointer).drop_front().split(written, '/');
  Way way{tokensOf(pointer)};
  // A `*` at the beginning takes the lines of JSON Lines as it takes the elements of an array.
  const auto isLine = [](const Value& one) { return one.getAsObject() && !one.getAsObject()->get("*"); };
  if (!way.tokens.empty() && way.tokens[0] == "*" && std::ranges::all_of(documents, isLine)) {
    json::Array lines;
    for (Value& one : documents) lines.push_back(std::move(one));
    documents = {Value(std::move(lines))};
  }
  std::vector<std::vector<const Value*>> found;
  for (const Value& document : documents) {
    way.end = nullptr;
    way.farthest = 0;
    way.from(document, 0);
    if (!way.found.empty()) found.push_back(std::exchange(way.found, {}));
  }
  if (found.empty()) {
    const std::string led = "/" + llvm::join(written.begin(), written.begin() + way.farthest, "/");
    return noValue(
        fmt::format("nothing at {}: {} is {}", pointer, way.farthest > 0 ? led : "the document", membersOf(*way.end)));
  }
  if (which == Which::Last) found.erase(found.begin(), found.end() - 1);
  for (const std::vector<const Value*>& values : found) TRY(use(values));
  return Error::success();
}

/// Adds the text of a value; null has none.
Error addText(const Value& value, std::vector<std::string>& texts) {
  if (value.getAsNull()) return Error::success();
  if (const auto text = value.getAsString())
    texts.push_back(text->str());
  else if (const auto flag = value.getAsBoolean())
    texts.emplace_back(*flag ? "true" : "false");
  else if (const auto whole = value.getAsInteger())
    texts.push_back(std::to_string(*whole));
  else if (const auto number = value.getAsNumber())
    texts.push_back(fmt::format("{}", *number));
  else
    return failure("{}", kindOf(value));
  return Error::success();
}

/// Adds a number, which may stand in quotes. The error fits behind the pointer.
Error addNumber(const Value& value, Values& values) {
  std::optional<double> number = value.getAsNumber();
  bool none = value.getAsNull().has_value();
  if (const auto text = value.getAsString()) {
    auto read = readNumber(*text);
    if (read) number = *read;
    none = !read && read.errorIsA<NoValue>();
    consumeError(read.takeError());
  }
  if (number && values.size() == kMostValues) return failure("more than the millionth number");
  if (number) return values.push_back(*number), Error::success();
  return noValue(fmt::format("not a number but {}", kindOf(value)), none);
}

/// Adds the value, or the elements of an array, to the result.
Error addNumbers(const Value& value, const std::string& pointer, JsonNumbers& result) {
  const json::Array* array = value.getAsArray();
  if (!array) {
    auto error = addNumber(value, result.values);
    return error ? within(fmt::format("at {} is ", pointer), std::move(error)) : std::move(error);
  }
  result.array = true;
  for (size_t i = 0; i < array->size(); ++i)
    if (auto error = addNumber((*array)[i], result.values))
      return within(fmt::format("at {}/{} is ", pointer, i), std::move(error));
  if (array->empty()) return noValue(fmt::format("the array at {} is empty", pointer));
  return Error::success();
}

}  // namespace

Error checkPointer(const std::string& pointer) {
  if (!pointer.empty() && pointer.front() != '/')
    return failure("the JSON pointer '{}' does not start with a slash", pointer);
  if (std::ranges::count(pointer, '/') > ptrdiff_t(kMostTokens))
    return failure("the JSON pointer has more than {} parts", kMostTokens);
  for (size_t at = pointer.find('~'); at != std::string::npos; at = pointer.find('~', at + 1))
    if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1'))
      return failure("the JSON pointer '{}': write ~0 for a tilde, and ~1 for a slash in a name", pointer);
  return Error::success();
}

Expected<JsonNumbers> readJson(StringRef text, const std::string& pointer, Which which) {
  JsonNumbers result;
  const auto add = [&](ArrayRef<const Value*> values) -> Error {
    result.places = std::max(result.places, values.size());
    for (const Value* value : values) TRY(addNumbers(*value, pointer, result));
    return Error::success();
  };
  TRY(visit(text, pointer, which, add));
  return result;
}

Expected<RowTexts> jsonRows(StringRef text, std::string_view rows, const std::string& pointer) {
  const std::vector<std::string> below = tokensOf(StringRef(pointer).drop_front(rows.size()));
  RowTexts found;
  const auto add_rows = [&](ArrayRef<const Value*> values) -> Error {
    for (const Value* row : values) {
      if (found.size() == kMostValues) return failure("it has more than a million rows");
      std::vector<std::string>& texts = found.emplace_back();
      Way way{below};
      way.from(*row, 0);
      for (const Value* value : way.found) {
        const json::Array* array = value->getAsArray();
        const auto add = [&](const Value& one) { return addText(one, texts); };
        Error wrong = array ? Error::success() : add(*value);
        for (size_t i = 0; array && !wrong && i < array->size(); ++i) wrong = add((*array)[i]);
        if (wrong) return within(fmt::format("at {} is ", pointer), std::move(wrong));
      }
    }
    return Error::success();
  };
  TRY(visit(text, std::string(rows), Which::All, add_rows));
  return found;
}

Expected<uint64_t> countJson(StringRef text, const std::string& pointer) {
  uint64_t count = 0;
  auto error = visit(text, pointer, Which::All, [&](ArrayRef<const Value*> values) {
    for (const Value* value : values) count += value->getAsArray() ? value->getAsArray()->size() : 1;
    return Error::success();
  });
  // Nothing there is none of them.
  TRY(llvm::handleErrors(std::move(error), [](const NoValue&) {}));
  return count;
}

Error readTruth(StringRef text, const std::string& pointer) {
  return visit(text, pointer, Which::All, [&](ArrayRef<const Value*> values) -> Error {
    for (const Value* value : values)
      if (value->getAsBoolean() != true) return failure("at {} is {}, not true", pointer, kindOf(*value));
    return Error::success();
  });
}

}  // namespace expc::command
