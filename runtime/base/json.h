#pragma once

// JSON as plans and trials use it: reading that no input can crash, printing that is exact and stable, and errors that
// name the path of what is wrong.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace expc::base {

/// Deepest nesting that parseJson accepts. LLVM's parser recurses without a limit of its own.
inline constexpr unsigned kMaxJsonDepth = 200;

/// One JSON document. Errors (bad syntax, bad UTF-8, too deep) say line and column; never a crash.
llvm::Expected<llvm::json::Value> parseJson(std::string_view text);

/// Canonical text: keys sorted, no white space, numbers shortest. Equal values give equal text.
std::string canonicalJson(const llvm::json::Value& value);

/// Writes a value for a reader: two spaces an indent, keys sorted, numbers as in canonicalJson, short arrays on one
/// line. No newline at the end.
std::string prettyJson(const llvm::json::Value& value);

/// A JSON string of any bytes: what is not UTF-8 (a path, a worker's log) is replaced by U+FFFD.
llvm::json::Value jsonText(llvm::StringRef bytes);

/// A measured number. JSON has none for what is not finite: that is the text "nan", "inf" or "-inf".
llvm::json::Value jsonNumber(double number);
/// The number that jsonNumber wrote; nothing of any other value.
std::optional<double> measuredNumber(const llvm::json::Value& value);
/// The measured numbers of an array; an element that is none is NaN.
std::vector<double> measuredNumbers(const llvm::json::Value& array);

/// An array of such strings.
llvm::json::Array jsonTexts(const std::vector<std::string>& texts);

/// The kind of a value, with its article: "a string", "an array", "null".
llvm::StringRef kindName(const llvm::json::Value& value);

/// A place in a document, linked to its parent so that text is built only for an error: $.points[3].levels[0].
struct JsonPath {
  const JsonPath* parent = nullptr;
  llvm::StringRef key;          // a member, if not empty
  std::optional<size_t> index;  // an element
  std::string text() const;
};

/// Keeps the first error found in a document; later ones are mostly its consequences.
class JsonErrors {
 public:
  void add(const JsonPath& at, const llvm::Twine& message);
  bool any() const { return !first_.empty(); }
  /// Success, or the first error, prefixed with `what` ("the plan").
  llvm::Error take(const llvm::Twine& what) const;

 private:
  std::string first_;
};

}  // namespace expc::base
