#include "compiler/check/errors.h"

namespace expc::check::errors {

std::string arguments(size_t count) {
  return count > 1 ? fmt::format("{} arguments", count) : count == 1 ? "one argument" : "no argument";
}

void seriesValue(diag::Emitter& emitter, source::Range range, std::string_view name, source::Range declared) {
  emitter.build(range, SeriesValue, name)
      .note(declared, "read it with 'epochs_to({} >= …)', or compare it with 'max_gap({})'", name, name)
      .emit();
}

}  // namespace expc::check::errors
