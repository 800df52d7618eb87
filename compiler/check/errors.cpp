#include "compiler/check/errors.h"

namespace expc::check::errors {

std::string counted(size_t count, std::string_view noun) {
  if (count < 2) return fmt::format("{} {}", count == 0 ? "no" : "one", noun);
  return fmt::format("{} {}s", count, noun);
}

void seriesValue(diag::Emitter& emitter, source::Range range, std::string_view name, source::Range declared) {
  emitter.build(range, SeriesValue, name)
      .note(declared, "read it with 'epochs_to({} >= …)', or compare it with 'max_gap({})'", name, name)
      .emit();
}

}  // namespace expc::check::errors
