#include "compiler/parse/reporter.h"

#include "compiler/diag/columns.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(SyntaxError, Error, "expected {0}, found {1}", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(TooManyErrors, Error, "more than {0} errors: the rest of this file was not read", size_t);

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

diag::Emitter* Reporter::next(uint32_t at) {
  if (count_ > limit_) return nullptr;
  if (++count_ <= limit_) return &emitter_;
  emitter_.emit({file_, at, at}, TooManyErrors, limit_);
  return nullptr;
}

std::optional<diag::Builder> Reporter::unexpected(source::Range range, const std::string& expected,
                                                  const std::string& found) {
  diag::Emitter* emitter = next(range.begin);
  return emitter ? std::optional(emitter->build(range, SyntaxError, expected, found)) : std::nullopt;
}

void Reporter::syntaxError(source::Range range, const std::string& expected, const std::optional<std::string>& meant) {
  std::optional<diag::Builder> builder = unexpected(range, expected, quote(sources_.text(range)));
  if (builder && meant) builder->guess(range, *meant);
  if (builder) builder->emit();
}

}  // namespace expc::parse
