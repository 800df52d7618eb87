#include "compiler/parse/reporter.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(SyntaxError, Error, "{0}", std::string);
EXPC_DIAGNOSTIC(TooManyErrors, Error, "more than {0} errors: the rest of this file was not read", size_t);

diag::Emitter* Reporter::next(uint32_t at) {
  if (count_ > kLimit) return nullptr;
  if (++count_ <= kLimit) return &emitter_;
  emitter_.emit({file_, at, at}, TooManyErrors, static_cast<size_t>(kLimit));
  return nullptr;
}

void Reporter::syntaxError(source::Range range, std::string message) {
  if (diag::Emitter* emitter = next(range.begin)) emitter->emit(range, SyntaxError, std::move(message));
}

}  // namespace expc::parse
