#include "runtime/plan/json.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/ConvertUTF.h>
#include <llvm/Support/Endian.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "runtime/plan/plan.h"

namespace expc::plan {
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

void appendString(std::string& out, llvm::StringRef text) {
  constexpr llvm::StringLiteral kEscaped = "\"\\\n\r\t", kAs = "\"\\nrt";
  out += '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\')
      out += c;
    else if (const size_t at = kEscaped.find(c); at != llvm::StringRef::npos)
      out.append({'\\', kAs[at]});
    else
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  }
  out += '"';
}

/// Whole values print as integers whatever they are stored as, so that 2 and 2.0 give one text.
void appendNumber(std::string& out, const llvm::json::Value& value) {
  if (const auto unsigned_value = value.getAsUINT64()) {
    out += std::to_string(*unsigned_value);
    return;
  }
  const double number = *value.getAsNumber();
  if (number >= -0x1p63 && number < 0x1p63) {
    if (const auto signed_value = value.getAsInteger()) {
      out += std::to_string(*signed_value);
      return;
    }
  }
  if (!std::isfinite(number)) {
    out += "null";  // JSON has no such number; readers of a number refuse null
    return;
  }
  if (number == std::trunc(number) && number >= 0 && number < 0x1p64) {
    out += std::to_string(static_cast<uint64_t>(number));
    return;
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number);
  out.append(buffer, end.ptr);
}

struct Printer {
  bool pretty;
  unsigned depth = 0;
  std::string out = {};

  std::string print(const llvm::json::Value& value) {
    append(value);
    return std::move(out);
  }

  void append(const llvm::json::Value& value) {
    if (const llvm::json::Object* object = value.getAsObject())
      appendObject(*object);
    else if (const llvm::json::Array* array = value.getAsArray())
      appendArray(*array);
    else if (const auto text = value.getAsString())
      appendString(out, *text);
    else if (value.getAsNumber())
      appendNumber(out, value);
    else
      out += value.getAsNull() ? "null" : *value.getAsBoolean() ? "true" : "false";
  }

  void appendArray(const llvm::json::Array& array) {
    const bool one_line = !pretty || std::none_of(array.begin(), array.end(), [](const llvm::json::Value& element) {
      return element.getAsArray() || element.getAsObject();
    });
    out += '[';
    ++depth;
    for (size_t i = 0; i < array.size(); ++i) {
      if (i) out += pretty && one_line ? ", " : ",";
      if (!one_line) newline();
      append(array[i]);
    }
    --depth;
    if (!one_line && !array.empty()) newline();
    out += ']';
  }

  void appendObject(const llvm::json::Object& object) {
    std::vector<llvm::StringRef> keys;
    keys.reserve(object.size());
    for (const auto& member : object) keys.push_back(llvm::StringRef(member.first));
    std::sort(keys.begin(), keys.end());
    out += '{';
    ++depth;
    bool first = true;
    for (const llvm::StringRef key : keys) {
      if (!first) out += ',';
      first = false;
      if (pretty) newline();
      appendString(out, key);
      out += pretty ? ": " : ":";
      append(*object.get(key));
    }
    --depth;
    if (pretty && !keys.empty()) newline();
    out += '}';
  }

  void newline() {
    out += '\n';
    out.append(2 * depth, ' ');
  }
};

/// The UTF-16 unit of an escape \uXXXX at `at`.
std::optional<uint32_t> unitAt(std::string_view text, size_t at) {
  uint32_t unit = 0;
  if (text.size() < at + 6 || text.substr(at, 2) != "\\u") return std::nullopt;
  if (llvm::StringRef(text.data() + at + 2, 4).getAsInteger(16, unit)) return std::nullopt;
  return unit;
}

/// LLVM's parser joins the two halves of an escaped character of U+20000 and above to another character. Here they are
/// written as UTF-8 before it sees them; nothing where there are none.
std::optional<std::string> withoutHighPairs(std::string_view text) {
  std::optional<std::string> result;
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

llvm::Expected<llvm::json::Value> parseJson(std::string_view text) {
  if (const auto at = tooDeep(text))
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "nested deeper than %u levels at byte %zu",
                                   kMaxJsonDepth, *at);
  const auto rewritten = withoutHighPairs(text);
  return llvm::json::parse(rewritten ? *rewritten : text);
}

std::string canonicalJson(const llvm::json::Value& value) { return Printer{false}.print(value); }

/// For people too, whose terminals may take some characters of UTF-8 for escape sequences: U+007F to U+009F.
std::string prettyJson(const llvm::json::Value& value) {
  const std::string text = Printer{true}.print(value);
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

llvm::json::Value jsonText(llvm::StringRef bytes) {
  if (llvm::json::isUTF8(bytes)) return llvm::json::Value(bytes.str());
  return llvm::json::Value(llvm::json::fixUTF8(bytes));
}

llvm::json::Array jsonTexts(const std::vector<std::string>& texts) {
  llvm::json::Array array;
  array.reserve(texts.size());
  for (const std::string& text : texts) array.push_back(jsonText(text));
  return array;
}

uint64_t hashOf(std::string_view text) {
  return llvm::support::endian::read64be(llvm::BLAKE3::hash<8>(llvm::arrayRefFromStringRef(text)).data());
}

std::string shortHash(std::string_view canonical) { return fmt::format("{:016x}", hashOf(canonical)); }

}  // namespace expc::plan
