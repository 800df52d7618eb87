// One scanner finds the ends of values by brackets and quotes; everything else is built on it.

#include "runtime/data/text/raw_json.h"

#include <llvm/Support/JSON.h>

#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace expc::text {
namespace {

constexpr const char* kBlanks = " \t\n\r";

/// Removes the value at the beginning of `rest`, and white space around it, and returns its text.
StringRef takeValue(StringRef& rest) {
  rest = rest.ltrim(kBlanks);
  size_t depth = 0, at = 0;
  for (bool in_string = false; at < rest.size(); ++at) {
    const char c = rest[at];
    if (in_string) {
      at += c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']')) {
      break;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  const StringRef value = rest.take_front(at);
  rest = rest.drop_front(value.size());
  return value.rtrim(kBlanks);
}

/// Removes a separator and white space before it.
bool takeMark(StringRef& rest, char mark) {
  rest = rest.ltrim(kBlanks);
  if (rest.empty() || rest.front() != mark) return false;
  rest = rest.drop_front();
  return true;
}

/// The parts of an object or array: values, each behind its key (an object's).
struct RawPart {
  StringRef key, value;
};
std::vector<RawPart> partsOf(StringRef text, char open) {
  std::vector<RawPart> parts;
  if (!takeMark(text, open)) return parts;
  const char close = open == '{' ? '}' : ']';
  while (!takeMark(text, close) && !text.empty()) {
    const size_t before = text.size();
    RawPart part;
    if (open == '{') part.key = takeValue(text), takeMark(text, ':');
    part.value = takeValue(text);
    takeMark(text, ',');
    if (text.size() == before) break;  // text that no parser would accept
    parts.push_back(part);
  }
  return parts;
}

/// The characters of a JSON string.
std::string charactersOf(StringRef text) {
  const auto value = expectedToOptional(parseJson(text));
  return value ? value->getAsString().value_or("").str() : "";
}

/// A string as Python writes it: control characters, quotes and backslashes escaped, nothing else.
std::string pythonString(StringRef text) {
  std::string result = "\"";
  for (const char c : text) {
    static constexpr llvm::StringLiteral kNamed = "\"\\\n\r\t\b\f", kNames = "\"\\nrtbf";
    if (const size_t named = kNamed.find(c); named != StringRef::npos)
      result += {'\\', kNames[named]};
    else if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", unsigned(c));
    else
      result += c;
  }
  return result + "\"";
}

/// A number as Python writes it: whole ones with the same digits, others as the shortest that reads back the same.
std::string pythonNumber(StringRef text) {
  if (text.find_first_of(".eE") == StringRef::npos) return text == "-0" ? "0" : text.str();
  double value = 0;
  if (text.getAsDouble(value)) return text.str();
  std::string result = fmt::format("{}", value);
  if (result == "inf" || result == "-inf") return result == "inf" ? "Infinity" : "-Infinity";
  return StringRef(result).find_first_of(".e") == StringRef::npos ? result + ".0" : result;
}

void writePython(StringRef text, unsigned indent, unsigned depth, std::string& out) {
  const char first = text.empty() ? '\0' : text.front();
  if (first == '"') return void(out += pythonString(charactersOf(text)));
  if (first != '{' && first != '[')
    return void(out += first == '-' || (first >= '0' && first <= '9') ? pythonNumber(text) : text.str());
  const std::vector<RawPart> parts = partsOf(text, first);
  const auto line = [&](unsigned level) { return indent == 0 ? "" : "\n" + std::string(size_t{indent} * level, ' '); };
  out += first;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += indent == 0 ? ", " : ",";
    out += line(depth + 1);
    if (first == '{') out += pythonString(charactersOf(parts[i].key)) + ": ";
    writePython(parts[i].value, indent, depth + 1, out);
  }
  if (!parts.empty()) out += line(depth);
  out += first == '{' ? '}' : ']';
}

}  // namespace

StringRef rawValue(StringRef object, StringRef key) {
  StringRef found;
  for (const auto& [name, value] : partsOf(object, '{'))
    if (charactersOf(name) == key) found = value;
  return found;
}

std::vector<StringRef> rawElements(StringRef array) {
  std::vector<StringRef> elements;
  for (const RawPart& part : partsOf(array, '[')) elements.push_back(part.value);
  return elements;
}

std::string asPython(StringRef value, unsigned indent) {
  std::string out;
  writePython(value.trim(kBlanks), indent, 0, out);
  return out;
}

}  // namespace expc::text
