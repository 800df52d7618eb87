#include "compiler/parse/reporter.h"

#include "compiler/diag/columns.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(SyntaxError, Error, "expected {0}, found {1}");
EXPC_DIAGNOSTIC(TooManyErrors, Error, "more than {0} errors: the rest of this file was not read");

std::string quote(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string shown = diag::printable(text);
  if (shown.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
    shown = shown.substr(0, end) + "…";
  }
  return "'" + shown + "'";
}

bool Reporter::counts(uint32_t at) {
  if (exhausted()) return false;
  if (++count_ <= limit_) return true;
  return emitter_.refuse({file_, at, at}, TooManyErrors, limit_);
}

std::optional<diag::Builder> Reporter::unexpected(source::Range range, const std::string& expected,
                                                  const std::string& found) {
  return build(range, SyntaxError, expected, found);
}

void Reporter::syntaxError(source::Range range, const std::string& expected) {
  emit(range, SyntaxError, expected, quote(sources_.text(range)));
}

}  // namespace expc::parse
