#include "compiler/parse/reporter.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(SyntaxError, Error, "{0}", std::string);
EXPC_DIAGNOSTIC(TooManyErrors, Error, "more than {0} errors: the rest of this file was not read", size_t);

diag::Emitter* Reporter::next(uint32_t at) {
  if (count_ > limit_) return nullptr;
  if (++count_ <= limit_) return &emitter_;
  emitter_.emit({file_, at, at}, TooManyErrors, limit_);
  return nullptr;
}

void Reporter::syntaxError(source::Range range, std::string message, const std::optional<std::string>& meant) {
  diag::Emitter* emitter = next(range.begin);
  if (!emitter) return;
  if (meant) message += fmt::format("; did you mean '{}'?", *meant);
  diag::Builder builder = emitter->build(range, SyntaxError, std::move(message));
  if (meant) builder.fix(range, *meant);
  builder.emit();
}

}  // namespace expc::parse
