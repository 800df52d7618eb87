#pragma once

// JSON for plans, trials and stores: reading that no input can crash, printing that is exact and stable, and errors
// that name the path of what is wrong.

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::base {

/// Deepest nesting that parseJson accepts. LLVM's parser recurses without a limit of its own.
inline constexpr unsigned kMaxJsonDepth = 200;

/// Parses one JSON document. Errors (bad syntax, bad UTF-8, too deep) give the line and column, or the byte; no
/// input crashes it.
Expected<json::Value> parseJson(std::string_view text);

/// Canonical text: keys sorted, no white space, numbers in their shortest form. Equal values give equal text, so it
/// can be hashed.
std::string canonicalJson(const json::Value& value);

/// Text for people: two spaces per level, keys sorted, numbers as in canonicalJson, short arrays on one line. No
/// newline at the end.
std::string prettyJson(const json::Value& value);

/// A JSON string of any bytes. Bytes that are not UTF-8 (of a path, a worker's log) are replaced by U+FFFD.
json::Value jsonText(StringRef bytes);

/// A text as a JSON string, which is also a literal of the language. Bytes are replaced as by jsonText.
std::string jsonLiteral(std::string_view text);

/// A measured number. JSON has no number that is not finite: these are the texts "nan", "inf" and "-inf".
json::Value jsonNumber(double number);
/// The number that jsonNumber wrote; nothing for any other value.
std::optional<double> measuredNumber(const json::Value& value);
/// The measured numbers of an array; an element that is not a number is NaN.
std::vector<double> measuredNumbers(const json::Value& array);

/// An array of strings as jsonText makes them.
json::Array jsonTexts(const std::vector<std::string>& texts);

/// The kind of a value, with its article: "a string", "an array", "null".
StringRef kindName(const json::Value& value);

/// A place in a document: $.points[3].levels[0]. It is linked to its parent, so that text is made only for an
/// error.
struct JsonPath {
  const JsonPath* parent = nullptr;
  StringRef key;                // a member, unless empty
  std::optional<size_t> index;  // an element of an array
  /// "$.points[3].levels[0]".
  std::string text() const;
};

/// Keeps the first error of a document; later ones are mostly its consequences.
class JsonErrors {
 public:
  /// Notes an error at a place, unless there is one already.
  void add(const JsonPath& at, const llvm::Twine& message);
  bool any() const { return !first_.empty(); }
  /// Success, or the first error, with `what` in front ("the plan").
  Error take(const llvm::Twine& what) const;

 private:
  std::string first_;
};

}  // namespace expc::base

namespace expc {
using base::canonicalJson, base::jsonText, base::parseJson;
}
