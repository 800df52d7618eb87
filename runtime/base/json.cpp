#include "runtime/base/json.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/ConvertUTF.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"

namespace expc::base {

using json::Value;
namespace {

/// Position of the first bracket that opens deeper than allowed; brackets inside strings do not count.
std::optional<size_t> tooDeep(std::string_view text) {
  unsigned depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return i;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

/// The text of a number. Whole numbers print as integers however they are stored, so that 2 and 2.0 give one text.
std::string canonicalNumber(const Value& value) {
  if (const auto unsigned_value = value.getAsUINT64()) return std::to_string(*unsigned_value);
  const double number = *value.getAsNumber();
  if (number >= -0x1p63 && number < 0x1p63)
    if (const auto signed_value = value.getAsInteger()) return std::to_string(*signed_value);
  if (!std::isfinite(number)) return "null";  // JSON has no such number; readers of a number refuse null
  if (number == std::trunc(number) && number >= 0 && number < 0x1p64) return std::to_string(uint64_t(number));
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number);
  // Shortest text that reads back as the same double.
  return {buffer, end.ptr};
}

/// Appends a string with LLVM's escapes.
void appendQuoted(std::string& out, StringRef text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
    else if (const size_t at = std::string_view("\t\n\r").find(c); at != std::string_view::npos)
      out.append({'\\', "tnr"[at]});
    else
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
  }
  out += '"';
}

/// Appends a value as LLVM's printer writes it, but with members sorted by name, numbers in one form and, with an
/// indent, flat arrays on one line. `line` begins a line inside the value's parent, "" without an indent.
void append(std::string& out, const Value& value, const std::string& line) {
  const bool pretty = !line.empty();
  const std::string inside = pretty ? line + "  " : "";
  const auto nests = [](const Value& element) { return element.getAsArray() || element.getAsObject(); };
  if (const json::Object* object = value.getAsObject()) {
    // LLVM's objects are hash tables: sort the names, so that equal values give equal text.
    llvm::SmallVector<std::pair<StringRef, const Value*>, 16> members;
    for (const auto& member : *object) members.emplace_back(StringRef(member.first), &member.second);
    llvm::sort(members);
    out += '{';
    for (const auto& [name, member] : members) {
      if (member != members.front().second) out += ',';
      appendQuoted(out += inside, name);
      append(out += pretty ? ": " : ":", *member, inside);
    }
    out.append(members.empty() ? "" : line).append("}");
  } else if (const json::Array* array = value.getAsArray()) {
    const bool flat = llvm::none_of(*array, nests);
    out += '[';
    for (const Value& element : *array) {
      if (&element != &array->front()) out += pretty && flat ? ", " : ",";
      append(flat ? out : out += inside, element, flat ? "" : inside);
    }
    out.append(flat ? "" : line).append("]");
  } else if (value.getAsNumber()) {
    out += canonicalNumber(value);
  } else if (const auto text = value.getAsString()) {
    appendQuoted(out, *text);
  } else {
    out += value.getAsBoolean() ? *value.getAsBoolean() ? "true" : "false" : "null";
  }
}

std::string printed(const Value& value, const std::string& line) {
  std::string text;
  append(text, value, line);
  return text;
}

/// The UTF-16 unit of an escape \uXXXX at `at`, if there is one.
std::optional<uint32_t> unitAt(std::string_view text, size_t at) {
  uint32_t unit = 0;
  if (text.size() < at + 6 || text.substr(at, 2) != "\\u") return std::nullopt;
  if (StringRef(text.data() + at + 2, 4).getAsInteger(16, unit)) return std::nullopt;
  return unit;
}

/// Works around a fault of LLVM's parser: it joins the two halves of an escaped character from U+20000 on to
/// another character. Such pairs are replaced by UTF-8 before it sees them. Nothing if there are none.
std::optional<std::string> withoutHighPairs(std::string_view text) {
  std::optional<std::string> result;
  // Only pairs from U+20000 on are affected: their high half is from D840 to DBFF.
  size_t copied = 0;
  for (size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
    const auto high = unitAt(text, at), low = unitAt(text, at + 6);
    if (!high || *high < 0xd840 || *high > 0xdbff || !low || *low < 0xdc00 || *low > 0xdfff) {
      at += 2;  // past what is escaped, which may be a backslash
      continue;
    }
    const uint32_t code_point = 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00);
    char bytes[4];
    char* end = bytes;
    llvm::ConvertCodePointToUTF8(code_point, end);
    if (!result) result.emplace();
    result->append(text.substr(copied, at - copied)).append(bytes, end);
    copied = at += 12;
  }
  if (result) result->append(text.substr(copied));
  return result;
}

}  // namespace

/// LLVM's parser recurses for each level, so depth is checked before it starts.
Expected<Value> parseJson(std::string_view text) {
  if (const auto at = tooDeep(text)) return failure("nested deeper than {} levels at byte {}", kMaxJsonDepth, *at);
  const auto rewritten = withoutHighPairs(text);
  return json::parse(rewritten ? *rewritten : text);
}

std::string canonicalJson(const Value& value) { return printed(value, ""); }

/// A terminal may take U+007F to U+009F for escape sequences, so these are escaped in text for people.
std::string prettyJson(const Value& value) {
  const std::string text = printed(value, "\n");
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](size_t at) { return unsigned(static_cast<unsigned char>(text[at])); };
    const bool two = byte(i) == 0xc2 && byte(i + 1) < 0xa0;  // a quote follows at least
    i += two;
    if (two || byte(i) == 0x7f)
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte(i));
    else
      out += text[i];
  }
  return out;
}

Value jsonText(StringRef bytes) {
  if (json::isUTF8(bytes)) return Value(bytes.str());
  return Value(json::fixUTF8(bytes));
}

std::string jsonLiteral(std::string_view text) { return canonicalJson(jsonText(text)); }

Value jsonNumber(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

/// The three words that jsonNumber writes, or a plain number.
std::optional<double> measuredNumber(const Value& value) {
  for (const double number : {NAN, INFINITY, -INFINITY})
    if (value.getAsString() && jsonNumber(number) == value) return number;
  return value.getAsNumber();
}

std::vector<double> measuredNumbers(const Value& array) {
  std::vector<double> numbers;
  if (const json::Array* elements = array.getAsArray())
    for (const Value& element : *elements) numbers.push_back(measuredNumber(element).value_or(NAN));
  return numbers;
}

json::Array jsonTexts(const std::vector<std::string>& texts) {
  json::Array array;
  array.reserve(texts.size());
  for (const std::string& text : texts) array.push_back(jsonText(text));
  return array;
}

}  // namespace expc::base
